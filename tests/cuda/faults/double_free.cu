// Two owners free the same buffer.
#include <cuda_runtime.h>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }

int main() {
    float* x;
    cudaMalloc(&x, 64 * sizeof(float));
    float* alias = x;
    fill<<<1, 64>>>(x);
    cudaFree(x);
    cudaFree(alias);  // FAULT double_free
}
