// Tiles that are copied to shared memory ahead of their use, by threads on their own and by a block together.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include "common.h"

constexpr int kTile = 128;

__global__ void sums_by_threads(const float* in, float* out, int tiles) {
    __shared__ __align__(16) float stage[2][kTile];
    const int at = 4 * threadIdx.x;
    __pipeline_memcpy_async(&stage[0][at], in + at, 16);
    __pipeline_commit();
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) __pipeline_memcpy_async(&stage[(tile + 1) % 2][at], in + (tile + 1) * kTile + at, 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int i = threadIdx.x; i < kTile; i += blockDim.x) sum += stage[tile % 2][kTile - 1 - i];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void sums_by_blocks(const float* in, float* out, int tiles) {
    namespace cg = cooperative_groups;
    __shared__ __align__(16) float stage[kTile];
    const cg::thread_block block = cg::this_thread_block();
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; tile++) {
        cg::memcpy_async(block, stage, in + tile * kTile, sizeof(stage));
        cg::wait(block);
        for (int i = threadIdx.x; i < kTile; i += blockDim.x) sum += stage[kTile - 1 - i];
        block.sync();
    }
    out[threadIdx.x] = sum;
}

int main() {
    const int tiles = 5, threads = kTile / 4;
    const std::vector<float> values = random_floats(tiles * kTile, 7);
    std::vector<float> expected(threads, 0.0f);
    for (int tile = 0; tile < tiles; tile++) {
        for (int i = 0; i < kTile; i++) expected[i % threads] += values[tile * kTile + kTile - 1 - i];
    }
    Buffer<float> in(values), out(threads);
    sums_by_threads<<<1, threads>>>(in.device, out.device, tiles);
    validate("by threads", out.host(), expected, 0.0f);
    sums_by_blocks<<<1, threads>>>(in.device, out.device, tiles);
    validate("by blocks", out.host(), expected, 0.0f);
    return failures;
}
