// Each thread asks for as many bytes as it needs floats.
#include <cuda_runtime.h>

__global__ void squares(float* y, int n) {
    float* scratch = static_cast<float*>(malloc(n));
    for (int i = 0; i < n; i++) scratch[i] = static_cast<float>(i * i);  // FAULT out_of_bounds
    y[threadIdx.x] = scratch[0];
    free(scratch);
}

int main() {
    float* y;
    cudaMalloc(&y, 32 * sizeof(float));
    squares<<<1, 32>>>(y, 16);
    cudaDeviceSynchronize();
    cudaFree(y);
}
