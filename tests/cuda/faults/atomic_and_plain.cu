// Some threads count with an atomic, one resets the same counter plainly meanwhile.
#include <cuda_runtime.h>

__global__ void count(int* counter, const int* x) {
    int t = threadIdx.x;
    if (x[t] > 0) {
        atomicAdd(counter, 1);
    }
    if (t == 96) {
        *counter = 0;  // FAULT global_race
    }
}

int main() {
    int values[128], *x, *counter;
    for (int i = 0; i < 128; ++i) {
        values[i] = i % 3;
    }
    cudaMalloc(&x, sizeof(values));
    cudaMalloc(&counter, sizeof(int));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    cudaMemset(counter, 0, sizeof(int));
    count<<<1, 128>>>(counter, x);
    cudaDeviceSynchronize();
}
