// An index computed wrongly runs into the kernel's own check.
#include <cassert>
#include <cuda_runtime.h>

__global__ void place(int* x, int n) {
    int i = threadIdx.x * 3;
    assert(i < n);  // FAULT assert
    x[i] = i;
}

int main() {
    int* x;
    cudaMalloc(&x, 64 * sizeof(int));
    place<<<1, 32>>>(x, 64);
    cudaDeviceSynchronize();
}
