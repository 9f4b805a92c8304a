// Rows that fit are sorted whole in shared memory; of longer ones chunk after chunk is sorted together with the best k so
// far. The exponentials are summed in a second look at what lies in shared memory, relative to the chunk's maximum.
#include <cuda_runtime.h>

#include <float.h>

namespace {

constexpr int THREADS = 512;
constexpr int MAX_K = 256;
constexpr int ROOM = 2048;

struct Entry {
    float logit;
    int column;
};

__device__ bool before(const Entry& a, const Entry& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.column < b.column);
}

__device__ void sort(Entry* entries, int size) {
    for (int run = 2; run <= size; run *= 2) {
        for (int stride = run / 2; stride > 0; stride /= 2) {
            for (int pair = threadIdx.x; pair < size / 2; pair += THREADS) {
                const int low = pair / stride * 2 * stride + pair % stride, high = low + stride;
                const Entry a = entries[low], b = entries[high];
                if (before(b, a) == ((low & run) == 0)) {
                    entries[low] = b;
                    entries[high] = a;
                }
            }
            __syncthreads();
        }
    }
}

/// The sum over the block, known to all of it.
__device__ float block_sum(float mine) {
    __shared__ float of_warp[THREADS / 32];
    for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_down_sync(0xffffffffu, mine, distance);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    float total = 0.0f;
    for (float part : of_warp) total += part;
    __syncthreads();
    return total;
}

__global__ void __launch_bounds__(THREADS)
    sort_kernel(const float* logits, int vocab, int k, float* probs, int* indices) {
    __shared__ Entry entries[ROOM];
    const float* row = logits + static_cast<size_t>(blockIdx.x) * vocab;
    float max = -FLT_MAX, sum = 0.0f;
    int held = 0;
    for (int first = 0; first < vocab;) {
        const int fresh = min(ROOM - held, vocab - first), count = held + fresh;
        int size = 1;
        while (size < count) size *= 2;
        float own[(ROOM + THREADS - 1) / THREADS];
        int n = 0;
        for (int i = threadIdx.x; i < fresh; i += THREADS) {
            own[n] = row[first + i];
            entries[held + i] = {own[n], first + i};
            ++n;
        }
        for (int i = count + threadIdx.x; i < size; i += THREADS) entries[i] = {-INFINITY, 0x7fffffff};
        __syncthreads();
        sort(entries, size);
        const float larger = fmaxf(max, entries[0].logit);
        float part = 0.0f;
        for (int i = 0; i < n; ++i) part += expf(own[i] - larger);
        sum = sum * expf(max - larger) + block_sum(part);
        max = larger;
        first += fresh;
        held = min(count, k);
    }
    for (int i = threadIdx.x; i < k; i += THREADS) {
        probs[static_cast<size_t>(blockIdx.x) * k + i] = expf(entries[i].logit - max) / sum;
        indices[static_cast<size_t>(blockIdx.x) * k + i] = entries[i].column;
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    sort_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);
    return cudaGetLastError();
}
