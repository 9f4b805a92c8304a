// The first block waits for a flag that the second raises: right where both run at once, which is not here.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void pass_back(volatile int* flag, int* out) {
    if (blockIdx.x == 1) {
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        *out = 1;
    }
}

int main() {
    int *flag, *out;
    cudaMalloc(&flag, sizeof(int));
    cudaMalloc(&out, sizeof(int));
    cudaMemset(flag, 0, sizeof(int));
    pass_back<<<2, 1>>>(flag, out);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
