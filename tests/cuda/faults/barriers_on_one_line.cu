// Two barriers on one line are still two barriers.
#include <cuda_runtime.h>

__global__ void halves(int* out) {
    __shared__ int slots[128];
    int t = threadIdx.x;
    slots[t] = t;
    if (t < 64) __syncthreads(); else __syncthreads();  // FAULT barrier_divergence
    out[t] = slots[127 - t];
}

int main() {
    int* out;
    cudaMalloc(&out, 128 * sizeof(int));
    halves<<<1, 128>>>(out);
    cudaDeviceSynchronize();
}
