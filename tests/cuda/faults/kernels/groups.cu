// Cooperative groups whose members are not there, or that are smaller than what they should order.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "device.h"

namespace cg = cooperative_groups;

__global__ void tile_larger_than_the_block(int* out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = threadIdx.x;
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) {
        sum += tile.shfl_down(sum, offset);  // FAULT inactive_lane
    }
    if (tile.thread_rank() == 0) {
        out[0] = sum;
    }
}

__global__ void butterfly_in_half_a_tile(int* out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    out[threadIdx.x] = tile.shfl_xor(int(threadIdx.x), 8);  // FAULT inactive_lane
}

__global__ void rank_that_the_block_lacks(int* out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    out[threadIdx.x] = tile.shfl(int(threadIdx.x), 30);  // FAULT inactive_lane
}

__global__ void member_has_left(int* out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    if (tile.thread_rank() >= 20) {
        return;
    }
    out[threadIdx.x] = tile.shfl(int(threadIdx.x), 25);  // FAULT inactive_lane
}

__global__ void reduced_with_who_left(int* out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    if (tile.thread_rank() >= 16) {
        return;
    }
    out[threadIdx.x] = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());  // FAULT inactive_lane
}

__global__ void other_tile_of_the_warp(int* out) {
    __shared__ int s[32];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    s[threadIdx.x] = 1;  // FAULT shared_race
    tile.sync();
    out[threadIdx.x] = s[threadIdx.x ^ 8];  // FAULT shared_race
}

__global__ void tile_where_the_block_is_meant(int* out) {
    __shared__ int s[128];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    s[threadIdx.x] = 1;  // FAULT shared_race
    cg::sync(tile);
    out[threadIdx.x] = s[127 - threadIdx.x];  // FAULT shared_race
}

__global__ void tile_leader_and_others(int* out) {
    __shared__ int sums[4];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int sum = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
    if (tile.thread_rank() == 0) {
        sums[tile.meta_group_rank()] = sum;  // FAULT shared_race
    }
    out[threadIdx.x] = sums[(tile.meta_group_rank() + 1) % 4];  // FAULT shared_race
}

__global__ void coalesced_orders_itself_only(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;  // FAULT shared_race
    if (t % 2) {
        cg::coalesced_group odd = cg::coalesced_threads();
        odd.sync();
        out[t] = s[t - 1];  // FAULT shared_race
    }
}

__global__ void parts_by_a_predicate(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto part = cg::binary_partition(tile, t < 10);
    s[t] = t;  // FAULT shared_race
    part.sync();
    out[t] = s[31 - t];  // FAULT shared_race
}

__global__ void part_of_a_part(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    auto half = cg::tiled_partition<16>(cg::this_thread_block());
    auto quarter = cg::tiled_partition<4>(half);
    s[t] = t;  // FAULT shared_race
    quarter.sync();
    out[t] = s[t ^ 4];  // FAULT shared_race
}

__global__ void groups_of_run_time_size(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    cg::thread_group pair = cg::tiled_partition(cg::this_thread_block(), 2);
    s[t] = t;  // FAULT shared_race
    pair.sync();
    out[t] = s[t ^ 2];  // FAULT shared_race
}

__global__ void blocks_barrier_in_two_branches(int* out) {
    cg::thread_block block = cg::this_thread_block();
    if (threadIdx.x < 32) {
        block.sync();  // FAULT barrier_divergence
        out[threadIdx.x] = 1;
    } else {
        block.sync();  // FAULT barrier_divergence
        out[threadIdx.x] = 2;
    }
}

__global__ void one_writes_and_all_read(int* out) {
    __shared__ int chosen;
    cg::thread_block block = cg::this_thread_block();
    cg::invoke_one(block, [&] { chosen = 4; });  // FAULT shared_race
    out[threadIdx.x] = chosen;  // FAULT shared_race
}

__global__ void slot_used_again(int* out) {
    __shared__ int slot;
    cg::thread_block block = cg::this_thread_block();
    for (int round = 0; round < 2; ++round) {
        if (block.thread_rank() == 0) {
            slot = round;  // FAULT shared_race
        }
        block.sync();
        out[threadIdx.x + 128 * round] = slot;  // FAULT shared_race
    }
}

__global__ void halves_of_a_group_count_twice(int* out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int sum = cg::reduce(tile, 1, cg::plus<int>());
    out[0] = sum + tile.meta_group_rank();  // FAULT global_race
}

int main() {
    tile_larger_than_the_block<<<1, 16>>>(zeros<int>());
    butterfly_in_half_a_tile<<<1, 24>>>(zeros<int>());
    rank_that_the_block_lacks<<<1, 24>>>(zeros<int>());
    member_has_left<<<1, 32>>>(zeros<int>());
    reduced_with_who_left<<<1, 32>>>(zeros<int>());
    other_tile_of_the_warp<<<1, 32>>>(zeros<int>());
    tile_where_the_block_is_meant<<<1, 128>>>(zeros<int>());
    tile_leader_and_others<<<1, 128>>>(zeros<int>());
    coalesced_orders_itself_only<<<1, 32>>>(zeros<int>());
    parts_by_a_predicate<<<1, 32>>>(zeros<int>());
    part_of_a_part<<<1, 32>>>(zeros<int>());
    groups_of_run_time_size<<<1, 32>>>(zeros<int>());
    blocks_barrier_in_two_branches<<<1, 64>>>(zeros<int>());
    one_writes_and_all_read<<<1, 64>>>(zeros<int>());
    slot_used_again<<<1, 128>>>(zeros<int>());
    halves_of_a_group_count_twice<<<1, 32>>>(zeros<int>());
    cudaDeviceSynchronize();
}
