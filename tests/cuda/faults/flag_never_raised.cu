// A warp waits for a flag whose writer waits for that warp.
#include <cuda_runtime.h>

__global__ void hand_over(int* out) {
    __shared__ volatile int ready;
    int t = threadIdx.x;
    if (t == 0) {
        ready = 0;
    }
    __syncthreads();
    if (t >= 32) {
        while (ready == 0) {  // FAULT deadlock|runaway
        }
    }
    __syncthreads();
    if (t == 0) {
        ready = 1;
    }
    out[t] = t;
}

int main() {
    int* out;
    cudaMalloc(&out, 64 * sizeof(int));
    hand_over<<<1, 64>>>(out);
    cudaDeviceSynchronize();
}
