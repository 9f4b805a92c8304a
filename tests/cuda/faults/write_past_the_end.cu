// `<=` in the bounds check lets one thread too many write.
#include <cuda_runtime.h>

__global__ void scale(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        float value = i < n ? x[i] : 0.0f;
        y[i] = 2.0f * value;  // FAULT out_of_bounds
    }
}

int main() {
    const int n = 100;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    scale<<<2, 64>>>(y, x, n);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
}
