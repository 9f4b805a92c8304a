// The kernel takes the const off a constant table.
#include <cuda_runtime.h>

__constant__ int table[32];

__global__ void bump(int* out) {
    int t = threadIdx.x;
    int* mine = const_cast<int*>(&table[t]);
    *mine = 7 + t;  // FAULT constant_write
    out[t] = t;
}

int main() {
    int* out;
    cudaMalloc(&out, 32 * sizeof(int));
    bump<<<1, 32>>>(out);
    cudaDeviceSynchronize();
}
