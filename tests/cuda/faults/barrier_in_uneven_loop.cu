// Half of the threads go round a loop with a barrier once more often than the others.
#include <cuda_runtime.h>

__global__ void rounds(int* out, int n) {
    int t = threadIdx.x, sum = 0;
    for (int i = t; i < n; i += 128) {
        sum += i;
        __syncthreads();  // FAULT barrier_divergence
    }
    out[t] = sum;
    __syncthreads();
    if (t == 0) {
        out[0] += out[1];
    }
}

int main() {
    int* out;
    cudaMalloc(&out, 128 * sizeof(int));
    rounds<<<1, 128>>>(out, 320);
    cudaDeviceSynchronize();
}
