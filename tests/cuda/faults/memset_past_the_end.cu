// A buffer of halves is cleared as if it held floats.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void fill(__half* x) { x[threadIdx.x] = __float2half(1.0f); }

int main() {
    const int n = 64;
    __half* x;
    cudaMalloc(&x, n * sizeof(__half));
    cudaMemset(x, 0, n * sizeof(float));  // FAULT out_of_bounds
    fill<<<1, n>>>(x);
    cudaDeviceSynchronize();
}
