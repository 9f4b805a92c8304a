// Every warp and block collective against what its definition gives, for whole warps, segments and part masks.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "common.h"

namespace cg = cooperative_groups;

#define EXPECT(condition) \
    do { if (!(condition)) { printf("thread %d, line %d: %s\n", (int)threadIdx.x, __LINE__, #condition); atomicAdd(wrong, 1); } } while (0)

__global__ void shuffles(int* wrong) {
    const int lane = threadIdx.x % 32;
    for (int width = 1; width <= 32; width *= 2) {
        const int first = lane / width * width, last = first + width - 1;
        for (int by = 0; by < 32; by++) {
            EXPECT(__shfl_sync(0xffffffff, lane * 3, by, width) == 3 * (first + by % width));
            EXPECT(__shfl_up_sync(0xffffffff, lane, by, width) == (lane - by >= first ? lane - by : lane));
            EXPECT(__shfl_down_sync(0xffffffff, lane, by, width) == (lane + by <= last ? lane + by : lane));
            EXPECT(__shfl_xor_sync(0xffffffff, lane, by, width) == ((lane ^ by) <= last ? lane ^ by : lane));
        }
    }
    EXPECT(__shfl_sync(~0u, 1.5 * lane, 7) == 10.5);
    EXPECT(__shfl_sync(~0u, (long long)lane << 40, 5) == 5ll << 40);
    EXPECT(__shfl_sync(~0u, 7ull * lane, 31) == 217ull);
    EXPECT(__half2float(__shfl_xor_sync(~0u, __int2half_rn(lane), 16)) == (lane ^ 16));
    EXPECT((float)__shfl_down_sync(~0u, __float2bfloat16(lane), 1) == (lane < 31 ? lane + 1 : 31));
    const half2 pair = __shfl_up_sync(~0u, __floats2half2_rn(lane, -lane), 2);
    EXPECT(__low2float(pair) == (lane < 2 ? lane : lane - 2) && __high2float(pair) == -__low2float(pair));
    if (lane < 12) EXPECT(__shfl_sync(0xfff, lane, 11) == 11);
}

__global__ void votes(int* wrong) {
    const int lane = threadIdx.x % 32;
    EXPECT(__ballot_sync(0xffffffff, lane % 3 == 0) == 0x49249249u);
    EXPECT(__any_sync(0xffffffff, lane == 31) && !__any_sync(0xffffffff, 0));
    EXPECT(__all_sync(0xffffffff, 1) && !__all_sync(0xffffffff, lane != 4));
    if (lane & 1) {
        EXPECT(__ballot_sync(0xaaaaaaaa, 1) == 0xaaaaaaaau);
        EXPECT(__all_sync(0xaaaaaaaa, lane > 0));
    }
    EXPECT(__match_any_sync(~0u, lane / 8) == 0xffu << lane / 8 * 8);
    EXPECT(__match_any_sync(~0u, 0.5f * (lane % 2)) == (lane % 2 ? 0xaaaaaaaau : 0x55555555u));
    int all_equal = -1;
    EXPECT(__match_all_sync(~0u, 9ll, &all_equal) == ~0u && all_equal);
    EXPECT(__match_all_sync(~0u, lane == 3, &all_equal) == 0 && !all_equal);
    EXPECT(__reduce_add_sync(~0u, lane - 16) == -16 && __reduce_min_sync(~0u, lane - 16) == -16);
    EXPECT(__reduce_max_sync(~0u, (unsigned)lane) == 31u && __reduce_max_sync(~0u, -lane) == 0);
    EXPECT(__reduce_or_sync(~0u, 1u << lane) == ~0u && __reduce_xor_sync(~0u, (unsigned)lane) == 0u);
    EXPECT(__reduce_and_sync(~0u, lane | 64u) == 64u);
    EXPECT(__syncthreads_count(threadIdx.x % 5 == 0) == (blockDim.x + 4) / 5);
    EXPECT(__syncthreads_and(threadIdx.x < blockDim.x) && !__syncthreads_and(threadIdx.x != 40));
    EXPECT(__syncthreads_or(threadIdx.x == 63) && !__syncthreads_or(0));
    __syncwarp();
}

// which lanes run together is the device's choice: whatever it says, all in a group agree on it
__global__ void active(int* wrong, int* counter) {
    const int lane = threadIdx.x % 32;
    if (lane % 4 == 1) {
        const unsigned mask = __activemask();
        EXPECT((mask & ~0x22222222u) == 0 && mask >> lane & 1);
        EXPECT(__ballot_sync(mask, 1) == mask);
        cg::coalesced_group group = cg::coalesced_threads();
        const int size = group.size(), rank = group.thread_rank();
        EXPECT(size >= 1 && size <= 8 && rank < size);
        int before = 0;
        if (rank == 0) before = atomicAdd(counter, size);
        before = group.shfl(before, 0);
        EXPECT(before < 32);
        const int lanes = cg::reduce(group, 1 << lane / 4, cg::bit_or<int>());
        EXPECT(__popc(lanes) == size);
        const unsigned low = group.ballot(lane < 16);
        EXPECT(__popc(low) == __popc(lanes & 0xf));
        const int any = group.any(lane == 29), all = group.all(lane < 32);
        EXPECT(any == lanes >> 7 && all);
        const int next = group.shfl_down(rank, 1), last = group.shfl_up(rank, 1);
        EXPECT(next == (rank == size - 1 ? rank : rank + 1) && last == (rank == 0 ? 0 : rank - 1));
    }
    __syncwarp();
    if (lane > 20) return;
    const auto stayed = cg::coalesced_threads();
    const int odds = __popc(stayed.ballot(lane % 2)), thirds = __popc(stayed.ballot(lane % 3 == 0));
    const auto parity = cg::binary_partition(stayed, lane % 2);
    EXPECT(parity.size() == (lane % 2 ? odds : stayed.size() - odds));
    const auto label = cg::labeled_partition(stayed, lane % 3);
    if (lane % 3 == 0) EXPECT(label.size() == thirds);
    const int sum = cg::reduce(stayed, 1, cg::plus<int>());
    EXPECT(sum == stayed.size());
    stayed.sync();
}

struct Moments {
    double count, sum, squares;
    float largest;
};

template <int Size>
__device__ void tile_of(int* wrong) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(block);
    const int lane = threadIdx.x % Size;
    EXPECT(tile.size() == Size && tile.num_threads() == Size && tile.thread_rank() == lane);
    EXPECT(tile.meta_group_rank() == threadIdx.x / Size && tile.meta_group_size() == blockDim.x / Size);
    EXPECT(tile.shfl((int)threadIdx.x, 1) == (int)threadIdx.x / Size * Size + 1 % Size);
    EXPECT(tile.shfl_xor(lane, Size / 2) == (lane ^ Size / 2));
    EXPECT(tile.any(lane == Size - 1) && tile.all(true) && tile.ballot(lane == 0) == 1u);
    EXPECT(cg::reduce(tile, lane, cg::plus<int>()) == Size * (Size - 1) / 2);
    EXPECT(cg::reduce(tile, (float)lane, cg::greater<float>()) == Size - 1 && cg::reduce(tile, 5 + lane, cg::less<int>()) == 5);
    EXPECT(cg::inclusive_scan(tile, lane) == lane * (lane + 1) / 2);
    EXPECT(cg::exclusive_scan(tile, 2, cg::plus<int>()) == 2 * lane);
    const Moments moments = cg::reduce(tile, Moments{1, (double)lane, (double)(lane * lane), (float)-lane}, [](Moments a, Moments b) {
        return Moments{a.count + b.count, a.sum + b.sum, a.squares + b.squares, fmaxf(a.largest, b.largest)};
    });
    EXPECT(moments.count == Size && moments.sum * 2 == Size * (Size - 1) && moments.largest == 0);
    tile.sync();
}

__device__ int sum_of(cg::thread_group group, int* buffer, int value) {
    const int lane = group.thread_rank();
    for (int i = group.size() / 2; i > 0; i /= 2) {
        buffer[lane] = value;
        group.sync();
        if (lane < i) value += buffer[lane + i];
        group.sync();
    }
    return value;
}

__global__ void tiles(int* wrong) {
    __shared__ int buffer[64];
    tile_of<32>(wrong), tile_of<16>(wrong), tile_of<8>(wrong), tile_of<4>(wrong), tile_of<2>(wrong);
    auto block = cg::this_thread_block();
    auto halves = cg::tiled_partition<16>(cg::tiled_partition<32>(block));
    EXPECT(halves.meta_group_rank() == threadIdx.x / 16 % 2 && halves.meta_group_size() == 2);
    EXPECT(halves.match_any(threadIdx.x % 2) == (threadIdx.x % 2 ? 0xaaaau : 0x5555u));
    const int whole = sum_of(block, buffer, 1);
    if (threadIdx.x == 0) EXPECT(whole == 64);
    block.sync();
    cg::thread_group part = cg::tiled_partition(block, 8);
    const int eight = sum_of(part, &buffer[threadIdx.x / 8 * 8], 1);
    if (part.thread_rank() == 0) EXPECT(eight == 8);
    EXPECT(block.thread_index().x == threadIdx.x && block.group_index().x == blockIdx.x && block.group_dim().x == 64);
    EXPECT(cg::this_grid().thread_rank() == blockIdx.x * 64 + threadIdx.x && cg::this_grid().size() == gridDim.x * 64);
    cg::invoke_one(block, [&] { buffer[0] = 5; });
    cg::sync(block);
    EXPECT(buffer[0] == 5);
}

int main() {
    Buffer<int> wrong(std::vector<int>{0}), counter(std::vector<int>{0});
    shuffles<<<2, 64>>>(wrong.device);
    votes<<<1, 64>>>(wrong.device);
    active<<<2, 64>>>(wrong.device, counter.device);
    tiles<<<2, 64>>>(wrong.device);
    cudaCheck(cudaDeviceSynchronize());
    return wrong.host()[0] != 0 || counter.host()[0] != 32;
}
