// A three-point stencil without the left border.
#include <cuda_runtime.h>

__global__ void smooth(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) {
        float left = x[i - 1];  // FAULT out_of_bounds
        y[i] = (left + x[i] + x[i + 1]) / 3.0f;
    }
}

int main() {
    const int n = 256;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    smooth<<<n / 128, 128>>>(y, x, n);
    cudaDeviceSynchronize();
}
