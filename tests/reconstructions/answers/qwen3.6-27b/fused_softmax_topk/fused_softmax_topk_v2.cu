// Fused softmax + top-k, version 2: vectorised loads and a merge per warp.
#include <cuda_runtime.h>
#include <math.h>

constexpr int WARP_SIZE = 32;
constexpr int BLOCK_SIZE = 256;
constexpr int NUM_WARPS = BLOCK_SIZE / WARP_SIZE;
constexpr int LOCAL_K = 16;
constexpr unsigned FULL_MASK = 0xffffffff;

__device__ __forceinline__ float warp_reduce_max(float val) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1)
        val = fmaxf(val, __shfl_xor_sync(FULL_MASK, val, offset));
    return val;
}

__device__ __forceinline__ float warp_reduce_sum(float val) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1)
        val += __shfl_xor_sync(FULL_MASK, val, offset);
    return val;
}

// Best candidates of one thread, sorted, in registers.
struct LocalTopK {
    float vals[LOCAL_K];
    int idxs[LOCAL_K];
    int count = 0;

    __device__ void insert(float val, int idx) {
        if (count == LOCAL_K && val <= vals[LOCAL_K - 1]) return;
        int pos = count < LOCAL_K ? count++ : LOCAL_K - 1;
        for (; pos > 0 && vals[pos - 1] < val; --pos) {
            vals[pos] = vals[pos - 1];
            idxs[pos] = idxs[pos - 1];
        }
        vals[pos] = val;
        idxs[pos] = idx;
    }
};

// Four logits at once.
__device__ __forceinline__ void process_float4(const float4& x, int base, LocalTopK& local) {
    local.insert(x.x, base);
    local.insert(x.y, base + 1);
    local.insert(x.z, base + 2);
    local.insert(x.w, base + 3);
}

// Merge the lists of a warp into its best K.
__device__ void warp_topk_merge(LocalTopK& local, float* out_vals, int* out_idxs, int K) {
    float merged_vals[K];
    int merged_idxs[K];
    int head = 0;
    for (int i = 0; i < K; ++i) {
        float mine = head < local.count ? local.vals[head] : -INFINITY;
        float best = warp_reduce_max(mine);
        int owner = __ffs(__ballot_sync(FULL_MASK, mine == best)) - 1;
        merged_vals[i] = best;
        merged_idxs[i] = __shfl_sync(FULL_MASK, head < local.count ? local.idxs[head] : -1, owner);
        if (threadIdx.x % WARP_SIZE == owner) ++head;
    }
    for (int i = threadIdx.x % WARP_SIZE; i < K; i += WARP_SIZE) {
        out_vals[i] = merged_vals[i];
        out_idxs[i] = merged_idxs[i];
    }
}

template <int K>
struct SharedHeap {
    float vals[K];
    int idxs[K];
    int size;
};

template <int K>
__device__ void heap_insert(SharedHeap<K>& heap, float val, int idx, int top_k) {
    int pos;
    if (heap.size < top_k) {
        for (pos = heap.size++; pos > 0 && heap.vals[(pos - 1) / 2] > val; pos = (pos - 1) / 2) {
            heap.vals[pos] = heap.vals[(pos - 1) / 2];
            heap.idxs[pos] = heap.idxs[(pos - 1) / 2];
        }
    } else {
        if (val <= heap.vals[0]) return;
        for (pos = 0; 2 * pos + 1 < heap.size;) {
            int child = 2 * pos + 1;
            if (child + 1 < heap.size && heap.vals[child + 1] < heap.vals[child]) ++child;
            if (heap.vals[child] >= val) break;
            heap.vals[pos] = heap.vals[child];
            heap.idxs[pos] = heap.idxs[child];
            pos = child;
        }
    }
    heap.vals[pos] = val;
    heap.idxs[pos] = idx;
}

// Bitonic sort of the heap, largest first.
template <int K>
__device__ void bitonic_sort(SharedHeap<K>& heap) {
    for (int i = 0; i < heap.size; ++i) {
        int best = i;
        for (int j = i + 1; j < heap.size; ++j)
            if (heap.vals[j] > heap.vals[best]) best = j;
        float val = heap.vals[i];
        int idx = heap.idxs[i];
        heap.vals[i] = heap.vals[best];
        heap.idxs[i] = heap.idxs[best];
        heap.vals[best] = val;
        heap.idxs[best] = idx;
    }
}

template <int K>
__global__ void fused_softmax_topk_v2_kernel(const float* __restrict__ logits, float* __restrict__ probs,
                                             int* __restrict__ indices, int V, int top_k) {
    __shared__ float s_max[NUM_WARPS];
    __shared__ float s_sum[NUM_WARPS];
    __shared__ SharedHeap<K> heap;

    const int tid = threadIdx.x;
    const int lane = tid % WARP_SIZE;
    const int warp = tid / WARP_SIZE;
    const size_t row = blockIdx.x;
    const float* row_logits = logits + row * V;
    const float4* row_vectors = reinterpret_cast<const float4*>(row_logits);
    const int vectors = V / 4;

    // Pass 1: row maximum
    float local_max = -INFINITY;
    for (int i = tid; i < vectors; i += BLOCK_SIZE) {
        float4 x = row_vectors[i];
        local_max = fmaxf(fmaxf(local_max, fmaxf(x.x, x.y)), fmaxf(x.z, x.w));
    }
    for (int i = 4 * vectors + tid; i < V; i += BLOCK_SIZE) local_max = fmaxf(local_max, row_logits[i]);
    local_max = warp_reduce_max(local_max);
    if (lane == 0) s_max[warp] = local_max;
    if (tid == 0) heap.size = 0;
    __syncthreads();
    float row_max = s_max[0];
    for (int w = 1; w < NUM_WARPS; ++w) row_max = fmaxf(row_max, s_max[w]);
    row_max = warp_reduce_max(row_max);

    // Pass 2: sum of exponentials
    float local_sum = 0.0f;
    for (int i = tid; i < vectors; i += BLOCK_SIZE) {
        float4 x = row_vectors[i];
        local_sum += expf(x.x - row_max) + expf(x.y - row_max) + expf(x.z - row_max) + expf(x.w - row_max);
    }
    for (int i = 4 * vectors + tid; i < V; i += BLOCK_SIZE) local_sum += expf(row_logits[i] - row_max);
    local_sum = warp_reduce_sum(local_sum);
    if (lane == 0) s_sum[warp] = local_sum;
    __syncthreads();
    float row_sum = s_sum[0];
    for (int w = 1; w < NUM_WARPS; ++w) row_sum += s_sum[w];
    row_sum = warp_reduce_sum(row_sum);

    // Pass 3: candidates of every thread
    LocalTopK local;
    for (int i = tid; i < V; i += BLOCK_SIZE) local.insert(row_logits[i], i);

    // Warp-level merge: lane 0 collects the candidates of its warp
    if (lane == 0) {
        for (int src = 0; src < WARP_SIZE; ++src) {
            int count = __shfl_sync(FULL_MASK, local.count, src);
            for (int j = 0; j < count; ++j) {
                float val = __shfl_sync(FULL_MASK, local.vals[j], src);
                int idx = __shfl_sync(FULL_MASK, local.idxs[j], src);
                heap_insert(heap, val, idx, top_k);
            }
        }
    }
    __syncthreads();

    if (tid == 0) {
        bitonic_sort(heap);
        for (int i = 0; i < top_k; ++i) {
            probs[row * top_k + i] = expf(heap.vals[i] - row_max) / row_sum;
            indices[row * top_k + i] = heap.idxs[i];
        }
    }
}

template <int K>
void launch_fused_softmax_topk_v2(const float* d_logits, float* d_probs, int* d_indices, int B, int T, int V, int top_k) {
    fused_softmax_topk_v2_kernel<K><<<B * T, BLOCK_SIZE>>>(d_logits, d_probs, d_indices, V, top_k);
}
