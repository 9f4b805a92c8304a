// An allocation was forgotten.
#include <cuda_runtime.h>

__global__ void count(int* counters) {
    int t = threadIdx.x;
    counters[t] = t;  // FAULT null_pointer
}

int main() {
    int* counters = nullptr;
    count<<<1, 32>>>(counters);
    cudaDeviceSynchronize();
}
