// 2048 threads a block are twice what a block may have.
#include <cuda_runtime.h>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }

int main() {
    float* x;
    cudaMalloc(&x, 2048 * sizeof(float));
    fill<<<1, 2048>>>(x);  // FAULT invalid_launch
    cudaDeviceSynchronize();
}
