// Arrive and wait: what a thread does between the two needs no barrier of the block.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_runtime.h>
#include <utility>

namespace cg = cooperative_groups;

__global__ void sums(const float* in, float* out, int rows) {
    __shared__ cuda::barrier<cuda::thread_scope_block> filled, emptied;
    __shared__ float tile[64];
    if (threadIdx.x == 0) {
        init(&filled, blockDim.x);
        init(&emptied, blockDim.x);
    }
    __syncthreads();
    for (int row = 0; row < rows; ++row) {
        cuda::memcpy_async(&tile[threadIdx.x], &in[row * 64 + threadIdx.x], sizeof(float), filled);
        auto token = filled.arrive();
        filled.wait(std::move(token));
        const float next = tile[(threadIdx.x + 1) % 64];
        atomicAdd(&out[row], next);
        emptied.arrive_and_wait();
    }
}

__global__ void staged(const float* in, float* out, int rows) {
    __shared__ alignas(16) float tiles[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope::thread_scope_block, 2> state;
    const auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int row = 0, ahead = 0; row < rows; ++row) {
        for (; ahead < rows && ahead < row + 2; ++ahead) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tiles[ahead % 2], in + ahead * 64, cuda::aligned_size_t<16>(64 * sizeof(float)), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        atomicAdd(&out[row], tiles[row % 2][63 - threadIdx.x]);
        pipe.consumer_release();
    }
}

__global__ void counted(const int* in, int* message, int* flag, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> raised(*flag);
    __shared__ cuda::atomic<int, cuda::thread_scope_block> total;
    if (threadIdx.x == 0) total.store(0, cuda::memory_order_relaxed);
    __syncthreads();
    total.fetch_add(in[threadIdx.x], cuda::memory_order_relaxed);
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *message = total.load();
        raised.store(1, cuda::memory_order_release);
    }
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (raised.load(cuda::memory_order_acquire) == 0) {
        }
        *out = *message;
    }
}

int main() {
    const int rows = 5;
    float host[rows * 64], got[2 * rows], *in, *out;
    int ones[64], *whole, *parts, seen = 0;
    for (int i = 0; i < rows * 64; ++i) host[i] = static_cast<float>(i % 7);
    for (int& one : ones) one = 1;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof got);
    cudaMalloc(&whole, sizeof ones);
    cudaMalloc(&parts, 3 * sizeof(int));
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpy(whole, ones, sizeof ones, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof got);
    cudaMemset(parts, 0, 3 * sizeof(int));
    sums<<<1, 64>>>(in, out, rows);
    staged<<<1, 64>>>(in, out + rows, rows);
    counted<<<2, 64>>>(whole, parts, parts + 1, parts + 2);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    cudaMemcpy(&seen, parts + 2, sizeof seen, cudaMemcpyDeviceToHost);
    int wrong = seen != 64;
    for (int row = 0; row < rows; ++row) {
        float sum = 0;
        for (int i = 0; i < 64; ++i) sum += host[row * 64 + i];
        wrong += got[row] != sum || got[rows + row] != sum;
    }
    cudaFree(in);
    cudaFree(out);
    cudaFree(whole);
    cudaFree(parts);
    return wrong != 0;
}
