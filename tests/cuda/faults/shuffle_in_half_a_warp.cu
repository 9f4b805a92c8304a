// All 32 lanes are named, but 16 of them wait at a barrier instead.
#include <cuda_runtime.h>

__global__ void half_sum(int* out) {
    int lane = threadIdx.x, sum = lane;
    if (lane < 16) {
        for (int offset = 8; offset > 0; offset /= 2) {
            sum += __shfl_xor_sync(0xffffffff, sum, offset);  // FAULT deadlock
        }
    }
    __syncthreads();
    out[lane] = sum;
}

int main() {
    int* out;
    cudaMalloc(&out, 32 * sizeof(int));
    half_sum<<<1, 32>>>(out);
    cudaDeviceSynchronize();
}
