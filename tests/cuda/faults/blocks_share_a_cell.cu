// Every block adds its sum to one cell, with no atomic.
#include <cuda_runtime.h>

__global__ void total(float* out, const float* x) {
    float sum = x[blockIdx.x * 32 + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (threadIdx.x == 0) {
        *out = *out + sum;  // FAULT global_race
    }
}

int main() {
    const int blocks = 8;
    float *x, *out, values[32 * blocks];
    for (int i = 0; i < 32 * blocks; ++i) {
        values[i] = float(i);
    }
    cudaMalloc(&x, sizeof(values));
    cudaMalloc(&out, sizeof(float));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof(float));
    total<<<blocks, 32>>>(out, x);
    cudaDeviceSynchronize();
}
