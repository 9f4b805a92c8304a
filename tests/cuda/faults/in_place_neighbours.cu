// A shift by one done in place.
#include <cuda_runtime.h>

__global__ void shift(int* x, int n) {
    int i = threadIdx.x;
    if (i + 1 < n) {
        int right = x[i + 1];  // FAULT global_race
        x[i] = right;  // FAULT global_race
    }
}

int main() {
    const int n = 128;
    int values[n];
    for (int i = 0; i < n; ++i) {
        values[i] = i * i;
    }
    int* x;
    cudaMalloc(&x, sizeof(values));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    shift<<<1, n>>>(x, n);
    cudaDeviceSynchronize();
}
