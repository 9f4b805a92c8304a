// Each row is divided among PARTS blocks. A block ranks the columns of its part by counting how many are ahead of each,
// chunk by chunk, and leaves its best k and its sum in a small scratch; a second kernel merges the parts of a row.
#include <cuda_runtime.h>

#include <float.h>

namespace {

constexpr int MAX_K = 256;
constexpr int PARTS = 3;
constexpr int THREADS = 128;
constexpr int CHUNK = 512;  // columns looked at together with the best k so far
constexpr int ROOM = MAX_K + CHUNK;

struct Entry {
    float logit;
    int column;
};

struct Sum {
    float max;
    float sum;
};

__device__ bool ahead(Entry a, Entry b) { return a.logit > b.logit || (a.logit == b.logit && a.column < b.column); }

/// Put the best k of `count` entries in front, in order.
__device__ void keep_best(Entry* entries, Entry* sorted, int count, int k) {
    for (int i = threadIdx.x; i < count; i += THREADS) {
        int place = 0;
        for (int j = 0; j < count && place < k; ++j) place += ahead(entries[j], entries[i]);
        if (place < k) sorted[place] = entries[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < min(count, k); i += THREADS) entries[i] = sorted[i];
    __syncthreads();
}

__device__ Sum merged(Sum a, Sum b) {
    const float max = fmaxf(a.max, b.max);
    return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

__device__ Sum block_sum(Sum mine) {
    __shared__ Sum sums[THREADS];
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] = merged(sums[threadIdx.x], sums[threadIdx.x + half]);
        __syncthreads();
    }
    return sums[0];
}

__global__ void part_kernel(const float* logits, int vocab, int k, Entry* best, int* held, Sum* sums) {
    __shared__ Entry entries[ROOM], sorted[MAX_K];
    __shared__ int count;
    const int part = blockIdx.y, row = blockIdx.x;
    const int length = (vocab + PARTS - 1) / PARTS;
    const int begin = min(part * length, vocab), end = min(begin + length, vocab);
    const float* mine = logits + static_cast<size_t>(row) * vocab;
    Sum sum = {-FLT_MAX, 0.0f};
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (int first = begin; first < end; first += CHUNK) {
        const bool full = count == k;
        const Entry last = full ? entries[k - 1] : Entry{};
        __syncthreads();
        for (int column = first + threadIdx.x; column < min(first + CHUNK, end); column += THREADS) {
            const Entry entry = {mine[column], column};
            sum = merged(sum, {fmaxf(entry.logit, -FLT_MAX), entry.logit < -FLT_MAX ? 0.0f : 1.0f});
            if (!full || ahead(entry, last)) entries[atomicAdd(&count, 1)] = entry;
        }
        __syncthreads();
        keep_best(entries, sorted, count, k);
        if (threadIdx.x == 0) count = min(count, k);
        __syncthreads();
    }
    const Sum total = block_sum(sum);
    const size_t place = static_cast<size_t>(row) * PARTS + part;
    for (int i = threadIdx.x; i < count; i += THREADS) best[place * k + i] = entries[i];
    if (threadIdx.x == 0) {
        held[place] = count;
        sums[place] = total;
    }
}

__global__ void merge_kernel(const Entry* best, const int* held, const Sum* sums, int k, float* probs, int* indices) {
    __shared__ Entry entries[PARTS * MAX_K], sorted[MAX_K];
    const size_t row = blockIdx.x;
    int count = 0;
    Sum total = {-FLT_MAX, 0.0f};
    for (int part = 0; part < PARTS; ++part) {
        const size_t place = row * PARTS + part;
        for (int i = threadIdx.x; i < held[place]; i += THREADS) entries[count + i] = best[place * k + i];
        count += held[place];
        total = merged(total, sums[place]);
    }
    __syncthreads();
    keep_best(entries, sorted, count, k);
    for (int i = threadIdx.x; i < k; i += THREADS) {
        probs[row * k + i] = expf(entries[i].logit - total.max) / total.sum;
        indices[row * k + i] = entries[i].column;
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    const size_t parts = static_cast<size_t>(rows) * PARTS;
    void* scratch = nullptr;
    const size_t bytes = parts * (k * sizeof(Entry) + sizeof(Sum) + sizeof(int));
    const cudaError_t failed = cudaMallocAsync(&scratch, bytes, stream);
    if (failed != cudaSuccess) return failed;
    Entry* best = static_cast<Entry*>(scratch);
    Sum* sums = reinterpret_cast<Sum*>(best + parts * k);
    int* held = reinterpret_cast<int*>(sums + parts);
    part_kernel<<<dim3(rows, PARTS), THREADS, 0, stream>>>(logits, vocab, k, best, held, sums);
    merge_kernel<<<rows, THREADS, 0, stream>>>(best, held, sums, k, probs, indices);
    cudaFreeAsync(scratch, stream);
    return cudaGetLastError();
}
