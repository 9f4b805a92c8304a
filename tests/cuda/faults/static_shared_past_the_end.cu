// 256 threads store their partial sums into room for 128.
#include <cuda_runtime.h>

__global__ void partials(float* out) {
    __shared__ float partial[128];
    partial[threadIdx.x] = 1.0f;  // FAULT out_of_bounds
    __syncthreads();
    if (threadIdx.x < 128) {
        out[threadIdx.x] = partial[threadIdx.x];
    }
}

int main() {
    float* out;
    cudaMalloc(&out, 128 * sizeof(float));
    partials<<<1, 256>>>(out);
    cudaDeviceSynchronize();
}
