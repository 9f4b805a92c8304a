// Each thread reads what its neighbour in a tile of several warps has written, and nothing waits for that.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

template <unsigned Size>
__global__ void sums(const int* in, int* out) {
    __shared__ cg::block_tile_memory<256> scratch;
    __shared__ int turned[256];
    const cg::thread_block block = cg::this_thread_block(scratch);
    const auto tile = cg::tiled_partition<Size>(block);
    const int sum = cg::reduce(tile, in[block.thread_rank()], cg::plus<int>());
    turned[block.thread_rank()] = sum + static_cast<int>(tile.thread_rank());  // FAULT shared_race

    const int other = turned[tile.meta_group_rank() * Size + (tile.thread_rank() + 1) % Size];  // FAULT shared_race
    const int most = cg::reduce(tile, other, cg::greater<int>());
    const bool agreed = tile.all(most == sum + static_cast<int>(Size) - 1);
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = agreed ? sum : -1;
}

template <unsigned Size>
int wrong(const int* in, int* out, const int* host) {
    int got[4];
    sums<Size><<<1, 256>>>(in, out);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    int count = 0;
    for (unsigned tile = 0; tile < 256 / Size; ++tile) {
        int sum = 0;
        for (unsigned i = 0; i < Size; ++i) sum += host[tile * Size + i];
        count += got[tile] != sum;
    }
    return count;
}

int main() {
    int host[256], *in, *out;
    for (int i = 0; i < 256; ++i) host[i] = i * i % 17;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, 4 * sizeof(int));
    cudaMemset(out, 0, 4 * sizeof(int));
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    const int result = wrong<64>(in, out, host) + wrong<128>(in, out, host) + wrong<256>(in, out, host);
    cudaFree(in);
    cudaFree(out);
    return result != 0;
}
