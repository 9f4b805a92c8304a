// A block for each row, a min-heap for each of its warps: lanes vote on what beats the heap's root, lane 0 puts it in.
// At the end the heaps are sorted in place, and one thread merges them.
#include <cuda_runtime.h>

#include <float.h>

namespace {

constexpr unsigned ALL = 0xffffffffu;
constexpr int MAX_K = 256;
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;

struct Entry {
    float logit;
    int column;
};

/// The root is the smallest.
struct Heap {
    Entry entries[MAX_K];
    int size;
};

__device__ void sink(Entry* entries, int size, int at) {
    const Entry moved = entries[at];
    for (int child = 2 * at + 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && entries[child + 1].logit < entries[child].logit) ++child;
        if (entries[child].logit >= moved.logit) break;
        entries[at] = entries[child];
        at = child;
    }
    entries[at] = moved;
}

__device__ void push(Heap& heap, int k, Entry entry) {
    if (heap.size == k) {
        if (entry.logit <= heap.entries[0].logit) return;
        heap.entries[0] = entry;
        sink(heap.entries, k, 0);
        return;
    }
    int at = heap.size++;
    while (at > 0 && heap.entries[(at - 1) / 2].logit > entry.logit) {
        heap.entries[at] = heap.entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap.entries[at] = entry;
}

/// In descending order.
__device__ void sort(Heap& heap) {
    for (int last = heap.size - 1; last > 0; --last) {
        const Entry smallest = heap.entries[0];
        heap.entries[0] = heap.entries[last];
        heap.entries[last] = smallest;
        sink(heap.entries, last, 0);
    }
}

__device__ float warp_max(float value) {
    for (int distance = 16; distance > 0; distance /= 2) value = fmaxf(value, __shfl_xor_sync(ALL, value, distance));
    return value;
}

__device__ float warp_sum(float value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(ALL, value, distance);
    return value;
}

__global__ void heap_kernel(const float* logits, int vocab, int k, float* probs, int* indices) {
    __shared__ Heap heaps[WARPS];
    __shared__ float maxima[WARPS], sums[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float* row = logits + static_cast<size_t>(blockIdx.x) * vocab;
    Heap& heap = heaps[warp];
    if (lane == 0) heap.size = 0;
    __syncwarp();

    float max = -FLT_MAX, sum = 0.0f;
    for (int first = 32 * warp; first < vocab; first += THREADS) {
        const int column = first + lane;
        const bool there = column < vocab;
        const float logit = there ? row[column] : 0.0f;
        if (there && logit > max) {
            sum *= expf(max - logit);
            max = logit;
        }
        if (there) sum += expf(logit - max);
        unsigned waiting = __ballot_sync(ALL, there && (heap.size < k || logit > heap.entries[0].logit));
        for (; waiting; waiting &= waiting - 1) {
            const int source = __ffs(waiting) - 1;
            const float candidate = __shfl_sync(ALL, logit, source);
            if (lane == 0) push(heap, k, {candidate, first + source});
        }
        __syncwarp();
    }
    const float of_warp = warp_max(max);
    sum = warp_sum(sum * expf(max - of_warp));
    if (lane == 0) {
        maxima[warp] = of_warp;
        sums[warp] = sum;
        sort(heap);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;

    float top = maxima[0], total = 0.0f;
    for (int i = 1; i < WARPS; ++i) top = fmaxf(top, maxima[i]);
    for (int i = 0; i < WARPS; ++i) total += sums[i] * expf(maxima[i] - top);
    int next[WARPS] = {};
    for (int place = 0; place < k; ++place) {
        int best = -1;
        for (int i = 0; i < WARPS; ++i) {
            if (next[i] == heaps[i].size) continue;
            if (best < 0 || heaps[i].entries[next[i]].logit > heaps[best].entries[next[best]].logit) best = i;
        }
        const Entry chosen = heaps[best].entries[next[best]++];
        probs[static_cast<size_t>(blockIdx.x) * k + place] = expf(chosen.logit - top) / total;
        indices[static_cast<size_t>(blockIdx.x) * k + place] = chosen.column;
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return 1;
    heap_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);
    return cudaGetLastError();
}
