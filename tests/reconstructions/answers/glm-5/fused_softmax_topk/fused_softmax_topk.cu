// Fused softmax + top-k.
//
// One warp per row, single pass over the logits: the running maximum and sum of the softmax are updated online while
// every lane keeps its best logits in registers. The full softmax is never written to global memory.
//
//   grid   ceil(rows / WARPS_PER_BLOCK)
//   block  WARPS_PER_BLOCK * 32 threads
//   K      at most 32

#include <cuda_runtime.h>

#ifndef WARPS_PER_BLOCK
#define WARPS_PER_BLOCK 8
#endif

constexpr int WARP_SIZE = 32;
constexpr int MAX_K = 32;
constexpr unsigned FULL_MASK = 0xffffffffu;

// Best logits of one lane, largest first. Every index is a compile-time constant, so the arrays stay in registers.
struct TopKList {
    float vals[MAX_K];
    int idxs[MAX_K];

    __device__ void init() {
#pragma unroll
        for (int i = 0; i < MAX_K; ++i) {
            vals[i] = -FLT_MAX;
            idxs[i] = -1;
        }
    }

    __device__ void insert(float v, int idx) {
        if (v <= vals[MAX_K - 1]) return;
#pragma unroll
        for (int i = MAX_K - 1; i > 0; --i) {
            if (v > vals[i - 1]) {
                vals[i] = vals[i - 1];
                idxs[i] = idxs[i - 1];
            } else if (v > vals[i]) {
                vals[i] = v;
                idxs[i] = idx;
            }
        }
        if (v > vals[0]) {
            vals[0] = v;
            idxs[0] = idx;
        }
    }
};

// Combine two partial softmax states (maximum, sum of exponentials relative to it).
__device__ __forceinline__ void merge_softmax(float& m, float& s, float other_m, float other_s) {
    float new_m = fmaxf(m, other_m);
    s = s * __expf(m - new_m) + other_s * __expf(other_m - new_m);
    m = new_m;
}

__device__ __forceinline__ void warp_merge_softmax(float& m, float& s) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1) {
        float other_m = __shfl_xor_sync(FULL_MASK, m, offset);
        float other_s = __shfl_xor_sync(FULL_MASK, s, offset);
        merge_softmax(m, s, other_m, other_s);
    }
}

// Merge what the warps deposited in shared memory and write the K best.
__device__ void merge_warps(const float* warp_max, const float* warp_sum, const float (*heap_vals)[MAX_K],
                            const int (*heap_idxs)[MAX_K], float* out_probs, int* out_indices, int K) {
    float final_max = -FLT_MAX;
    float final_sum = 0.0f;
    for (int w = 0; w < WARPS_PER_BLOCK; ++w) merge_softmax(final_max, final_sum, warp_max[w], warp_sum[w]);

    TopKList best;
    best.init();
    for (int w = 0; w < WARPS_PER_BLOCK; ++w)
        for (int i = 0; i < K; ++i) best.insert(heap_vals[w][i], heap_idxs[w][i]);

    const float inv_sum = 1.0f / final_sum;
#pragma unroll
    for (int i = 0; i < MAX_K; ++i) {
        if (i < K) {
            out_probs[i] = __expf(best.vals[i] - final_max) * inv_sum;
            out_indices[i] = best.idxs[i];
        }
    }
}

__global__ void fused_softmax_topk_kernel(const float* __restrict__ logits, float* __restrict__ topk_probs,
                                          int* __restrict__ topk_indices, int rows, int V, int K) {
    __shared__ float warp_max[WARPS_PER_BLOCK];
    __shared__ float warp_sum[WARPS_PER_BLOCK];
    __shared__ float heap_vals[WARPS_PER_BLOCK][MAX_K];
    __shared__ int heap_idxs[WARPS_PER_BLOCK][MAX_K];

    const int lane = threadIdx.x % WARP_SIZE;
    const int warp_id = threadIdx.x / WARP_SIZE;
    const int row = blockIdx.x * WARPS_PER_BLOCK + warp_id;

    // ---- Phase 1: one pass over the row: online softmax and local top-k ----
    float m = -FLT_MAX;
    float s = 0.0f;
    TopKList list;
    list.init();
    if (row < rows) {
        const float* row_logits = logits + (size_t)row * V;
        for (int v = lane; v < V; v += WARP_SIZE) {
            float x = row_logits[v];
            merge_softmax(m, s, x, 1.0f);
            list.insert(x, v);
        }
    }

    // ---- Phase 2: combine within the warp ----
    warp_merge_softmax(m, s);
    if (lane == 0) {
        warp_max[warp_id] = m;
        warp_sum[warp_id] = s;
    }
#pragma unroll
    for (int i = 0; i < MAX_K; ++i) {
        if (i == lane && i < K) {
            heap_vals[warp_id][i] = list.vals[i];
            heap_idxs[warp_id][i] = list.idxs[i];
        }
    }
    __syncthreads();

    // ---- Phase 3: cross-warp merge and output ----
    if (warp_id == 0 && lane == 0 && row < rows)
        merge_warps(warp_max, warp_sum, heap_vals, heap_idxs, topk_probs + (size_t)row * K,
                    topk_indices + (size_t)row * K, K);
}

void launch_fused_softmax_topk(const float* logits, float* topk_probs, int* topk_indices, int B, int T, int V, int K,
                               cudaStream_t stream = 0) {
    const int rows = B * T;
    const int blocks = (rows + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK;
    fused_softmax_topk_kernel<<<blocks, WARPS_PER_BLOCK * WARP_SIZE, 0, stream>>>(logits, topk_probs, topk_indices,
                                                                                  rows, V, K);
}
