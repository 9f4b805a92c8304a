// Only half of the host's array is registered.
#include <cuda_runtime.h>

__global__ void fill(int* values, int n) {
    if (threadIdx.x < n) values[threadIdx.x] = 1;  // FAULT host_pointer_in_kernel
}

int values[64];

int main() {
    cudaHostRegister(values, 32 * sizeof(int), cudaHostRegisterMapped);
    fill<<<1, 64>>>(values, 64);
    cudaDeviceSynchronize();
    cudaHostUnregister(values);
}
