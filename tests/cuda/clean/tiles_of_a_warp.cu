// Groups of 8 and 16 lanes work side by side: reductions, broadcasts, scans and votes that stay in their group.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "device.h"

namespace cg = cooperative_groups;

template <int Size>
__global__ void groups(int* sums, int* ranks, const int* x) {
    __shared__ int kept[128];
    auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    int i = threadIdx.x, value = x[i];
    int sum = cg::reduce(tile, value, cg::plus<int>());
    int largest = cg::reduce(tile, value, cg::greater<int>());
    kept[i] = tile.shfl(value, 0);
    tile.sync();
    int first = kept[tile.meta_group_rank() * Size];
    bool any = tile.any(value == largest);
    sums[i] = any ? sum + first - tile.shfl_xor(value, 1) : -1;
    ranks[i] = tile.thread_rank() + 100 * __popc(tile.ballot(value > 0));
}

template <int Size>
int run() {
    const int n = 128;
    std::vector<int> x(n), sums(n), ranks(n);
    for (int i = 0; i < n; ++i) {
        x[i] = i * 29 % 23 - 11;
    }
    for (int i = 0; i < n; ++i) {
        int first = i / Size * Size, sum = 0, positive = 0;
        for (int j = first; j < first + Size; ++j) {
            sum += x[j];
            positive += x[j] > 0;
        }
        sums[i] = sum + x[first] - x[i ^ 1];
        ranks[i] = i % Size + 100 * positive;
    }
    Buffer<int> input(x), out_sums(n), out_ranks(n);
    groups<Size><<<1, n>>>(out_sums, out_ranks, input);
    int wrong = compare(out_sums.host(), sums, 0);
    return wrong ? wrong : compare(out_ranks.host(), ranks, 0);
}

int main() {
    int wrong = run<8>();
    return wrong ? wrong : run<16>();
}
