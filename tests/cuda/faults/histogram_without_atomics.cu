// Bins in shared memory are counted up without atomics.
#include <cuda_runtime.h>

__global__ void histogram(int* out, const int* x) {
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) {
        bins[t] = 0;
    }
    __syncthreads();
    bins[x[t]] += 1;  // FAULT shared_race
    __syncthreads();
    if (t < 8) {
        out[t] = bins[t];
    }
}

int main() {
    int values[128], *x, *out;
    for (int i = 0; i < 128; ++i) {
        values[i] = i * 7 % 8;
    }
    cudaMalloc(&x, sizeof(values));
    cudaMalloc(&out, 8 * sizeof(int));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    histogram<<<1, 128>>>(out, x);
    cudaDeviceSynchronize();
}
