// A vote of the tile, for which one thread of it asks only.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void sums(int* out) {
    __shared__ cg::block_tile_memory<256> scratch;
    const auto tile = cg::tiled_partition<64>(cg::this_thread_block(scratch));
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = tile.all(out[0] == 0);  // FAULT deadlock
}

int main() {
    int* out;
    cudaMalloc(&out, 4 * sizeof(int));
    cudaMemset(out, 0, 4 * sizeof(int));
    sums<<<1, 256>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
}
