// A kernel that writes past its buffer, and another buffer that lies there later.
#include <cuda_runtime.h>

__global__ void beyond(float* data) { data[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }

__global__ void first(float* data) { data[0] = 1.0f; }

int main() {
    float *data, *freed, *later;
    cudaMalloc(&data, 256);
    cudaMalloc(&freed, 4096);
    cudaFree(freed);
    beyond<<<4, 1024>>>(data);
    cudaDeviceSynchronize();
    cudaMalloc(&later, 4096);
    first<<<1, 1>>>(later);
    return cudaDeviceSynchronize();
}
