// The first lane of every warp takes a lock in shared memory to append to a list.
#include "device.h"

__global__ void collect(int* out, int* count) {
    __shared__ int lock, length, list[64];
    if (threadIdx.x == 0) {
        lock = 0;
        length = 0;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence_block();
        int at = length;
        list[at] = threadIdx.x / 32;
        length = at + 1;
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (int(threadIdx.x) < length) {
        out[list[threadIdx.x]] = list[threadIdx.x];
    }
    if (threadIdx.x == 0) {
        *count = length;
    }
}

int main() {
    const int warps = 16;
    std::vector<int> right(warps);
    for (int w = 0; w < warps; ++w) {
        right[w] = w;
    }
    Buffer<int> out(warps), count(1);
    collect<<<1, 32 * warps>>>(out, count);
    int wrong = compare(out.host(), right, 0);
    return wrong ? wrong : compare(count.host(), std::vector<int>{warps}, 0);
}
