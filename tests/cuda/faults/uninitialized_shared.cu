// Eight warps write their partial sums, and 32 are read.
#include <cuda_runtime.h>

__global__ void block_sum(float* out, const float* x) {
    __shared__ float partial[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = x[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) {
        partial[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        sum = partial[lane];  // FAULT uninitialized_read
        for (int offset = 16; offset > 0; offset /= 2) {
            sum += __shfl_xor_sync(0xffffffff, sum, offset);
        }
        if (lane == 0) {
            *out = sum;
        }
    }
}

int main() {
    float *x, *out;
    cudaMalloc(&x, 256 * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    cudaMemset(x, 0, 256 * sizeof(float));
    block_sum<<<1, 256>>>(out, x);
    cudaDeviceSynchronize();
}
