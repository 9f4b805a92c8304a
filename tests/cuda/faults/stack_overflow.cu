// A recursion whose end is never reached.
#include <cuda_runtime.h>

__device__ __noinline__ int walk(const int* next, int at, int depth) {
    int room[1024];
    for (int i = 0; i < 1024; ++i) {
        room[i] = at + i;  // FAULT stack_overflow
    }
    int found = walk(next, next[at], depth + 1);
    return found + room[found & 1023];
}

__global__ void follow(int* out, const int* next) {
    out[threadIdx.x] = walk(next, threadIdx.x, 0);
}

int main() {
    int ring[4] = {1, 2, 3, 0};
    int *next, *out;
    cudaMalloc(&next, sizeof(ring));
    cudaMalloc(&out, sizeof(ring));
    cudaMemcpy(next, ring, sizeof(ring), cudaMemcpyHostToDevice);
    follow<<<1, 4>>>(out, next);
    cudaDeviceSynchronize();
}
