// A stream compaction: one atomic a warp reserves room, ballots say where each lane writes.
#include <algorithm>

#include "device.h"

__global__ void compact(int* out, int* count, const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int value = i < n ? x[i] : -1;
    unsigned keeps = __ballot_sync(0xffffffff, value >= 0);
    int base = 0;
    if (lane == 0 && keeps != 0) {
        base = atomicAdd(count, __popc(keeps));
    }
    base = __shfl_sync(0xffffffff, base, 0);
    if (value >= 0) {
        out[base + __popc(keeps & ((1u << lane) - 1))] = value;
    }
}

int main() {
    const int n = 500;
    std::vector<int> x(n), right;
    for (int i = 0; i < n; ++i) {
        x[i] = i % 3 == 1 ? -i - 1 : i;
        if (x[i] >= 0) {
            right.push_back(x[i]);
        }
    }
    Buffer<int> input(x), out(n), count(1);
    compact<<<4, 128>>>(out, count.zero(), input, n);
    std::vector<int> got(right.size());
    must(cudaMemcpy(got.data(), (int*)out, got.size() * sizeof(int), cudaMemcpyDeviceToHost), "copy");
    std::sort(got.begin(), got.end());
    int wrong = compare(count.host(), std::vector<int>{int(right.size())}, 0);
    return wrong ? wrong : compare(got, right, 0);
}
