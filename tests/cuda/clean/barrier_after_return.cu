// Threads past the end return before a barrier: it waits for those that have not exited, from sm_70 on.
#include <cuda_runtime.h>

__global__ void reverse(int* out, const int* x, int n) {
    __shared__ int slots[128];
    int t = threadIdx.x;
    if (t >= n) {
        return;
    }
    slots[t] = x[t];
    __syncthreads();
    out[t] = slots[n - 1 - t];
}

int main() {
    const int n = 100;
    int *x, *out;
    cudaMalloc(&x, n * sizeof(int));
    cudaMalloc(&out, n * sizeof(int));
    cudaMemset(x, 0, n * sizeof(int));
    reverse<<<1, 128>>>(out, x, n);
    cudaDeviceSynchronize();
}
