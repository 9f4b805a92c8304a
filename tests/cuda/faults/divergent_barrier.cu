// Only the first two warps come to one of the barriers.
#include <cuda_runtime.h>

__global__ void gather(float* out, const float* x) {
    __shared__ float kept[64];
    int t = threadIdx.x;
    if (t < 64) {
        kept[t] = x[t];
        __syncthreads();  // FAULT barrier_divergence
        out[t] = kept[63 - t];
    }
    __syncthreads();
    if (t == 64) {
        out[64] = 1.0f;
    }
}

int main() {
    float *x, *out;
    cudaMalloc(&x, 256 * sizeof(float));
    cudaMalloc(&out, 65 * sizeof(float));
    cudaMemset(x, 0, 256 * sizeof(float));
    gather<<<1, 256>>>(out, x);
    cudaDeviceSynchronize();
}
