// The input is freed before the kernel that reads it.
#include <cuda_runtime.h>

__global__ void copy(float* y, const float* x) {
    int i = threadIdx.x;
    y[i] = x[i];  // FAULT use_after_free
}

int main() {
    float *x, *y;
    cudaMalloc(&x, 128 * sizeof(float));
    cudaMalloc(&y, 128 * sizeof(float));
    cudaMemset(x, 0, 128 * sizeof(float));
    cudaFree(x);
    copy<<<1, 128>>>(y, x);
    cudaDeviceSynchronize();
}
