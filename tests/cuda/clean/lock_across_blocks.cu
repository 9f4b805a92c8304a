// One thread of each block updates a pair of values under a lock.
#include "device.h"

__global__ void smallest(int* lock, int* best, int* where, const int* x) {
    if (threadIdx.x == 0) {
        int mine = x[blockIdx.x];
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        if (mine < *best) {
            *best = mine;
            *where = blockIdx.x;
        }
        __threadfence();
        atomicExch(lock, 0);
    }
}

int main() {
    const int blocks = 12;
    std::vector<int> x(blocks), right = {1 << 30, -1};
    for (int b = 0; b < blocks; ++b) {
        x[b] = (b * 5 + 7) % blocks * 10;
        if (x[b] < right[0]) {
            right = {x[b], b};
        }
    }
    Buffer<int> input(x), lock(1), best(std::vector<int>{1 << 30}), where(std::vector<int>{-1});
    smallest<<<blocks, 32>>>(lock.zero(), best, where, input);
    return compare(std::vector<int>{best.host()[0], where.host()[0]}, right, 0);
}
