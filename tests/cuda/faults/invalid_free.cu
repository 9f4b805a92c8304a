// What is freed is the middle of a buffer.
#include <cuda_runtime.h>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }

int main() {
    float* x;
    cudaMalloc(&x, 64 * sizeof(float));
    fill<<<1, 64>>>(x);
    x += 16;
    cudaFree(x);  // FAULT invalid_free
}
