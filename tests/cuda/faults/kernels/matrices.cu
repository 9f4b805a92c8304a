// Tensor-core matrices: half a warp, tiles past the end, and tiles that are not ready or that another warp still needs.
#include "device.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

using Left = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using Right = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__global__ void sixteen_threads(float* out) {
    Sum sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);  // FAULT inactive_lane
}
__global__ void some_have_left(float* out, const half* a, int n) {
    if (threadIdx.x >= n) return;
    Left x;
    wmma::load_matrix_sync(x, a, 16);  // FAULT inactive_lane
    out[threadIdx.x] = x.x[0];
}
__global__ void last_tile_past_the_end(float* out, const half* a, int columns) {
    Left x;
    for (int column = 0; column < columns; column += 16) {
        wmma::load_matrix_sync(x, a + column, columns);  // FAULT out_of_bounds
        out[threadIdx.x] = x.x[15];
    }
}
__global__ void tile_not_filled(float* out) {
    __shared__ __align__(32) half tile[256];
    for (int i = threadIdx.x; i < 240; i += 32) tile[i] = half(1.0f);
    __syncthreads();
    Left x;
    Right y;
    Sum sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::fill_fragment(y, half(1.0f));
    wmma::load_matrix_sync(x, tile, 16);  // FAULT uninitialized_read
    wmma::mma_sync(sum, x, y, sum);
    wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}
__global__ void tile_of_another_warp(float* out, const half* a) {
    __shared__ __align__(32) half tile[2][256];
    const int warp = threadIdx.x / 32;
    for (int i = threadIdx.x % 32; i < 256; i += 32) tile[warp][i] = a[i];  // FAULT shared_race
    Left x;
    wmma::load_matrix_sync(x, tile[1 - warp], 16);  // FAULT shared_race
    out[threadIdx.x] = x.x[3];
}
__global__ void result_overlaps_its_neighbour(float* out) {
    Sum sum;
    wmma::fill_fragment(sum, float(threadIdx.x / 32));
    wmma::store_matrix_sync(out + threadIdx.x / 32 * 128, sum, 16, wmma::mem_row_major);  // FAULT global_race
}
__global__ void result_beside_its_neighbour(float* out) {
    Sum sum;
    wmma::fill_fragment(sum, float(threadIdx.x / 32));
    wmma::store_matrix_sync(out + threadIdx.x / 32 * 256, sum, 16, wmma::mem_row_major);
}
__global__ void own_tile(float* out, const half* a) {
    __shared__ __align__(32) half tile[2][256];
    const int warp = threadIdx.x / 32;
    for (int i = threadIdx.x % 32; i < 256; i += 32) tile[warp][i] = a[i];
    __syncwarp();
    Left x;
    wmma::load_matrix_sync(x, tile[warp], 16);
    out[threadIdx.x] = x.x[3];
}

int main() {
    sixteen_threads<<<1, 16>>>(zeros<float>());
    some_have_left<<<1, 32>>>(zeros<float>(), zeros<half>(256), 20);
    last_tile_past_the_end<<<1, 32>>>(zeros<float>(), zeros<half>(16 * 40), 40);
    tile_not_filled<<<1, 32>>>(zeros<float>());
    tile_of_another_warp<<<1, 64>>>(zeros<float>(), zeros<half>(256));
    result_overlaps_its_neighbour<<<1, 64>>>(zeros<float>());
    result_beside_its_neighbour<<<1, 64>>>(zeros<float>());
    own_tile<<<1, 64>>>(zeros<float>(), zeros<half>(256));
    cudaDeviceSynchronize();
}
