// A case that was thought impossible.
#include <cuda_runtime.h>

__global__ void choose(int* x, int kind) {
    switch (kind) {
        case 0: x[threadIdx.x] = 1; break;
        case 1: x[threadIdx.x] = 2; break;
        default: __trap();  // FAULT trap
    }
}

int main() {
    int* x;
    cudaMalloc(&x, 32 * sizeof(int));
    choose<<<1, 32>>>(x, 3);
    cudaDeviceSynchronize();
}
