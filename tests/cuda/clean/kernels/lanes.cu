// Lanes that meet as their masks say, also where some have left or never were.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "expected.h"

namespace cg = cooperative_groups;

__global__ void halves_by_themselves(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    __syncwarp(t < 16 ? 0x0000ffff : 0xffff0000);
    out[t] = s[t ^ 15];
}

__global__ void named_lanes_have_left(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t >= 16) {
        return;
    }
    __syncwarp();
    out[t] = s[t + 16];
}

__global__ void only_half_is_left(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t >= 16) {
        return;
    }
    __syncwarp(0x0000ffff);
    out[t] = s[15 - t];
}

__global__ void barrier_after_some_left(int* out) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t >= 100) {
        return;
    }
    s[t] = t;
    __syncthreads();
    out[t] = s[99 - t];
}

__global__ void whole_warps_leave(int* out) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (t >= 32) {
        return;
    }
    for (int half = 64; half >= 32; half /= 2) {
        s[t] += s[t + half] + (half == 64 ? s[t + 96] - s[t + 96] : 0);
    }
    __syncwarp();
    out[t] = s[31 - t];
}

__global__ void vote_of_a_short_warp(int* out) {
    int t = threadIdx.x;
    out[t] = __popc(__ballot_sync(0xffffffff, t % 2));
}

__global__ void sum_of_a_short_warp(int* out) {
    int t = threadIdx.x, sum = t;
    for (int offset = 8; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0x0000ffff, sum, offset);
    }
    out[t] = sum;
}

__global__ void branches_that_meet_again(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t % 2) {
        s[t] = t;
    } else {
        s[t] = -t;
    }
    __syncwarp();
    out[t] = s[t ^ 1];
}

__global__ void steps_between_lanes(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = 1;
    s[t + 32] = 1;
    __syncwarp();
    for (int half = 32; half > 0; half /= 2) {
        int sum = s[t] + s[t + half];
        __syncwarp();
        s[t] = sum;
        __syncwarp();
    }
    out[t] = s[0];
}

__global__ void tiles_of_four(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    s[t] = t;
    tile.sync();
    out[t] = s[t ^ 3];
}

__global__ void tile_sum(int* out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int sum = threadIdx.x;
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) {
        sum += tile.shfl_down(sum, offset);
    }
    out[threadIdx.x] = tile.shfl(sum, 0);
}

__global__ void last_tile_is_short(int* out) {
    __shared__ int s[40];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    s[threadIdx.x] = threadIdx.x;
    tile.sync();
    out[threadIdx.x] = s[threadIdx.x ^ 1] + 100 * __popc(tile.ballot(1));
}

__global__ void odd_lanes_together(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    __syncwarp();
    if (t % 2) {
        cg::coalesced_group odd = cg::coalesced_threads();
        s[t] = 10 * t;
        odd.sync();
        int next = odd.shfl(t, (odd.thread_rank() + 1) % odd.size());  // of those that came together
        out[t] = s[next] - 10 * next + 1;
    }
}

__global__ void parts_by_label(int* out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto part = cg::labeled_partition(tile, int(threadIdx.x % 3));
    out[threadIdx.x] = cg::reduce(part, 1, cg::plus<int>());
}

__global__ void one_leader_for_a_tile(int* out, int* count) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int start = 0;
    if (tile.thread_rank() == 0) {
        start = atomicAdd(count, int(tile.size()));
    }
    start = tile.shfl(start, 0);
    out[start + tile.thread_rank()] = 1;
}

int main() {
    int* out = zeros<int>();
    halves_by_themselves<<<1, 32>>>(out);
    expect("halves_by_themselves", out, 32, [](int i) { return i ^ 15; });
    named_lanes_have_left<<<1, 32>>>(out);
    expect("named_lanes_have_left", out, 16, [](int i) { return i + 16; });
    only_half_is_left<<<1, 32>>>(out);
    expect("only_half_is_left", out, 16, [](int i) { return 15 - i; });
    barrier_after_some_left<<<1, 128>>>(out);
    expect("barrier_after_some_left", out, 100, [](int i) { return 99 - i; });
    whole_warps_leave<<<1, 128>>>(out);
    expect("whole_warps_leave", out, 32, [](int i) { return 3 * (31 - i) + 96; });
    vote_of_a_short_warp<<<1, 20>>>(out);
    expect("vote_of_a_short_warp", out, 20, [](int) { return 10; });
    sum_of_a_short_warp<<<1, 16>>>(out);
    expect("sum_of_a_short_warp", out, 16, [](int) { return 120; });
    branches_that_meet_again<<<1, 32>>>(out);
    expect("branches_that_meet_again", out, 32, [](int i) { return i % 2 ? 1 - i : i + 1; });
    steps_between_lanes<<<1, 32>>>(out);
    expect("steps_between_lanes", out, 1, [](int) { return 64; });
    tiles_of_four<<<1, 64>>>(out);
    expect("tiles_of_four", out, 64, [](int i) { return i ^ 3; });
    tile_sum<<<1, 64>>>(out);
    expect("tile_sum", out, 64, [](int i) { return i / 16 * 256 + 120; });
    last_tile_is_short<<<1, 40>>>(out);
    expect("last_tile_is_short", out, 40, [](int i) { return (i ^ 1) + (i < 32 ? 1600 : 800); });
    cudaMemset(out, 0, 4096);
    odd_lanes_together<<<1, 32>>>(out);
    expect("odd_lanes_together", out, 32, [](int i) { return i % 2; });
    parts_by_label<<<1, 32>>>(out);
    expect("parts_by_label", out, 32, [](int i) { return i % 3 == 2 ? 10 : 11; });
    cudaMemset(out, 0, 4096);
    one_leader_for_a_tile<<<2, 64>>>(out, zeros<int>());
    expect("one_leader_for_a_tile", out, 128, [](int) { return 1; });
    return wrong;
}
