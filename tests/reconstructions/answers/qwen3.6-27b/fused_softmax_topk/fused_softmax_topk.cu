// Fused softmax + top-k, version 1: one block per row, three passes, shared min-heap.
#include <cuda_runtime.h>
#include <math.h>

constexpr int WARP_SIZE = 32;
constexpr int BLOCK_SIZE = 256;
constexpr int NUM_WARPS = BLOCK_SIZE / WARP_SIZE;
constexpr int LOCAL_K = 16;  // candidates per thread

// ---------------------------------------------------------------------------
   Warp-level primitives
// ---------------------------------------------------------------------------

__device__ __forceinline__ float warp_reduce_max(float val) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1)
        val = fmaxf(val, __shfl_xor_sync(0xffffffff, val, offset));
    return val;
}

__device__ __forceinline__ float warp_reduce_sum(float val) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1)
        val += __shfl_xor_sync(0xffffffff, val, offset);
    return val;
}

// ---------------------------------------------------------------------------
   Shared-memory min-heap: the root is the smallest of the K best
// ---------------------------------------------------------------------------

template <int K>
struct MinHeap {
    float vals[K];
    int idxs[K];
    int size;
};

template <int K>
__device__ void heap_sift_up(MinHeap<K>& heap, int pos) {
    while (pos > 0) {
        int parent = (pos - 1) / 2;
        if (heap.vals[parent] <= heap.vals[pos]) break;
        float val = heap.vals[parent];
        int idx = heap.idxs[parent];
        heap.vals[parent] = heap.vals[pos];
        heap.idxs[parent] = heap.idxs[pos];
        heap.vals[pos] = val;
        heap.idxs[pos] = idx;
        pos = parent;
    }
}

template <int K>
__device__ void heap_sift_down(MinHeap<K>& heap, int pos) {
    while (true) {
        int left = 2 * pos + 1, right = left + 1, smallest = pos;
        if (left < heap.size && heap.vals[left] < heap.vals[smallest]) smallest = left;
        if (right < heap.size && heap.vals[right] < heap.vals[smallest]) smallest = right;
        if (smallest == pos) break;
        heap.vals[pos] = heap.vals[smallest];
        heap.idxs[pos] = heap.idxs[smallest];
        heap.vals[smallest] = heap.vals[pos];
        heap.idxs[smallest] = heap.idxs[pos];
        pos = smallest;
    }
}

template <int K>
__device__ void heap_insert(MinHeap<K>& heap, float val, int idx, int top_k) {
    if (heap.size < top_k) {
        heap.vals[heap.size] = val;
        heap.idxs[heap.size] = idx;
        heap_sift_up(heap, heap.size++);
    } else if (val > heap.vals[0]) {
        heap.vals[0] = val;
        heap.idxs[0] = idx;
        heap_sift_down(heap, 0);
    }
}

// ---------------------------------------------------------------------------
   The kernel: K is the capacity of the heap, top_k <= K what is asked for
// ---------------------------------------------------------------------------

template <int K>
__global__ void fused_softmax_topk_kernel(const float* __restrict__ logits, float* __restrict__ probs,
                                          int* __restrict__ indices, int V, int top_k) {
    __shared__ float s_max[NUM_WARPS];
    __shared__ float s_sum[NUM_WARPS];
    __shared__ float s_vals[BLOCK_SIZE * LOCAL_K];
    __shared__ int s_idxs[BLOCK_SIZE * LOCAL_K];
    __shared__ MinHeap<K> heap;

    const int tid = threadIdx.x;
    const int lane = tid % WARP_SIZE;
    const int warp = tid / WARP_SIZE;
    const size_t row = blockIdx.x;
    const float* row_logits = logits + row * V;

    // Pass 1: row maximum
    float local_max = -INFINITY;
    for (int i = tid; i < V; i += BLOCK_SIZE) local_max = fmaxf(local_max, row_logits[i]);
    local_max = warp_reduce_max(local_max);
    if (lane == 0) s_max[warp] = local_max;
    __syncthreads();
    float row_max = s_max[0];
    for (int w = 1; w < NUM_WARPS; ++w) row_max = fmaxf(row_max, s_max[w]);
    row_max = warp_reduce_max(row_max);

    // Pass 2: sum of exponentials
    float local_sum = 0.0f;
    for (int i = tid; i < V; i += BLOCK_SIZE) local_sum += expf(row_logits[i] - row_max);
    local_sum = warp_reduce_sum(local_sum);
    if (lane == 0) s_sum[warp] = local_sum;
    __syncthreads();
    float row_sum = s_sum[0];
    for (int w = 1; w < NUM_WARPS; ++w) row_sum += s_sum[w];
    row_sum = warp_reduce_sum(row_sum);

    // Pass 3: best LOCAL_K of every thread, sorted in registers
    float local_vals[LOCAL_K];
    int local_idxs[LOCAL_K];
    int count = 0;
    for (int i = tid; i < V; i += BLOCK_SIZE) {
        float x = row_logits[i];
        if (count == LOCAL_K && x <= local_vals[LOCAL_K - 1]) continue;
        int pos = count < LOCAL_K ? count++ : LOCAL_K - 1;
        for (; pos > 0 && local_vals[pos - 1] < x; --pos) {
            local_vals[pos] = local_vals[pos - 1];
            local_idxs[pos] = local_idxs[pos - 1];
        }
        local_vals[pos] = x;
        local_idxs[pos] = i;
    }
    for (int j = 0; j < LOCAL_K; ++j) {
        s_vals[tid * LOCAL_K + j] = j < count ? local_vals[j] : -INFINITY;
        s_idxs[tid * LOCAL_K + j] = j < count ? local_idxs[j] : -1;
    }
    __syncthreads();

    // Merge: thread 0 feeds all candidates to the heap, sorts it and writes the result
    if (tid == 0) {
        heap.size = 0;
        for (int c = 0; c < BLOCK_SIZE * LOCAL_K; ++c)
            if (s_idxs[c] >= 0) heap_insert(heap, s_vals[c], s_idxs[c], top_k);

        for (int i = 1; i < heap.size; ++i) {
            float val = heap.vals[i];
            int idx = heap.idxs[i], pos = i;
            for (; pos > 0 && heap.vals[pos - 1] < val; --pos) {
                heap.vals[pos] = heap.vals[pos - 1];
                heap.idxs[pos] = heap.idxs[pos - 1];
            }
            heap.vals[pos] = val;
            heap.idxs[pos] = idx;
        }
        for (int i = 0; i < top_k; ++i) {
            probs[row * top_k + i] = expf(heap.vals[i] - row_max) / row_sum;
            indices[row * top_k + i] = heap.idxs[i];
        }
    }
}

template <int K>
void launch_fused_softmax_topk(const float* d_logits, float* d_probs, int* d_indices, int B, int T, int V, int top_k) {
    fused_softmax_topk_kernel<K><<<B * T, BLOCK_SIZE>>>(d_logits, d_probs, d_indices, V, top_k);
}
