// Fused softmax and top-k of every row of a matrix: the logits are read once, nothing of their size is written.
//
// One block works on one row. Its threads stream the row in tiles and carry two things along:
//
// * an online softmax: each thread keeps the maximum of the logits it saw and the sum of their exponentials relative to
//   it; a larger maximum rescales the sum. The partial sums of all threads are merged once, at the end of the row.
// * a pool of candidates in shared memory. A logit joins it when it beats `floor`, the k-th best known so far. When the
//   next tile might not fit, the block sorts the pool, keeps the best k and raises `floor`. The first THREADS columns
//   set it already; of a row in random order only about k ln(vocab / THREADS) more logits ever join.
//
// A candidate is one 64-bit key, (rank of the logit, column from the right), so that a plain comparison orders by logit
// and equal logits by column. The result does not depend on the order in which threads reach the pool.
#include <cuda_runtime.h>

#include <float.h>
#include <stdint.h>

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int VECTOR = 4;  // floats in one 16-byte load
constexpr int TILE = THREADS * VECTOR;
constexpr int MAX_K = 256;
constexpr int CAPACITY = 2048;
static_assert(CAPACITY >= MAX_K + TILE, "the best k and a whole tile must fit");
static_assert((CAPACITY & (CAPACITY - 1)) == 0, "the pool is padded to a power of two for sorting");

// ---- candidates -----------------------------------------------------------------------------------------------

using Key = unsigned long long;

/// An integer that orders as the floats do; -inf has a positive one, so 0 is below every logit.
__device__ uint32_t rank_of(float logit) {
    const uint32_t bits = __float_as_uint(logit);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ Key key_of(float logit, int column) {
    return static_cast<Key>(rank_of(logit)) << 32 | ~static_cast<uint32_t>(column);
}

__device__ int column_of(Key key) { return static_cast<int>(~static_cast<uint32_t>(key)); }

__device__ float logit_of(Key key) {
    const uint32_t rank = static_cast<uint32_t>(key >> 32);
    return __uint_as_float(rank & 0x80000000u ? rank & 0x7fffffffu : ~rank);
}

/// The candidates of one row, in shared memory.
struct Pool {
    Key keys[CAPACITY];
    int count;
};

/// Add a logit if it beats the floor; the place it took, or -1.
__device__ int offer(Pool& pool, uint32_t floor, float logit, int column) {
    if (rank_of(logit) <= floor) return -1;
    const int place = atomicAdd(&pool.count, 1);
    pool.keys[place] = key_of(logit, column);
    return place;
}

/// Sort the first `size` keys, a power of two, in descending order: a bitonic network, one pair per thread and step.
__device__ void sort_descending(Key* keys, int size) {
    for (int run = 2; run <= size; run *= 2) {
        for (int stride = run / 2; stride > 0; stride /= 2) {
            for (int pair = threadIdx.x; pair < size / 2; pair += THREADS) {
                const int low = 2 * pair - (pair & (stride - 1));
                const int high = low + stride;
                const bool descending = (low & run) == 0;
                const Key a = keys[low], b = keys[high];
                if ((a < b) == descending) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            __syncthreads();
        }
    }
}

/// Reduce the pool to its best k, sorted; returns the rank that later candidates must beat. Called by the whole block
/// after a barrier.
__device__ uint32_t keep_best(Pool& pool, int k) {
    const int count = pool.count;
    int size = 1;
    while (size < count) size *= 2;
    for (int i = count + threadIdx.x; i < size; i += THREADS) pool.keys[i] = 0;
    __syncthreads();
    sort_descending(pool.keys, size);
    if (threadIdx.x == 0) pool.count = min(count, k);
    const uint32_t floor = count < k ? 0 : static_cast<uint32_t>(pool.keys[k - 1] >> 32);
    __syncthreads();
    return floor;
}

// ---- softmax --------------------------------------------------------------------------------------------------

/// Sum of exp(logit - max) over the logits seen.
struct Partial {
    float max;
    float sum;
};

__device__ void raise_max(Partial& partial, float logit) {
    if (logit > partial.max) {
        partial.sum *= expf(partial.max - logit);
        partial.max = logit;
    }
}

__device__ void add(Partial& partial, float logit) {
    raise_max(partial, logit);
    partial.sum += expf(logit - partial.max);
}

__device__ void add(Partial& partial, float4 logits) {
    raise_max(partial, fmaxf(fmaxf(logits.x, logits.y), fmaxf(logits.z, logits.w)));
    partial.sum += (expf(logits.x - partial.max) + expf(logits.y - partial.max)) +
                   (expf(logits.z - partial.max) + expf(logits.w - partial.max));
}

__device__ Partial merge(Partial a, Partial b) {
    Partial both;
    both.max = fmaxf(a.max, b.max);
    both.sum = a.sum * expf(a.max - both.max) + b.sum * expf(b.max - both.max);
    return both;
}

/// The partials of all threads as one, known to every thread.
__device__ Partial merge_block(Partial mine) {
    __shared__ Partial of_warp[WARPS];
    for (int distance = 16; distance > 0; distance /= 2) {
        Partial other;
        other.max = __shfl_xor_sync(0xffffffffu, mine.max, distance);
        other.sum = __shfl_xor_sync(0xffffffffu, mine.sum, distance);
        mine = merge(mine, other);
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    Partial total = of_warp[0];
    for (int warp = 1; warp < WARPS; ++warp) total = merge(total, of_warp[warp]);
    return total;
}

// ---- one row --------------------------------------------------------------------------------------------------

/// Columns before the aligned part of a row: at most THREADS, fewer by the row's distance from a 16-byte boundary.
__device__ int head_of(const float* row, int vocab) {
    const int past_boundary = static_cast<int>(reinterpret_cast<uintptr_t>(row) / sizeof(float) % VECTOR);
    return min(THREADS - past_boundary, vocab);
}

/// Columns [begin, end), at most one for each thread.
__device__ void take_columns(const float* row, int begin, int end, Pool& pool, uint32_t floor, Partial& partial) {
    const int column = begin + threadIdx.x;
    if (column < end) {
        const float logit = row[column];
        add(partial, logit);
        offer(pool, floor, logit, column);
    }
}

/// Four columns from `column` on; the last place they took in the pool, or -1.
__device__ int take_vector(float4 logits, int column, Pool& pool, uint32_t floor, Partial& partial) {
    add(partial, logits);
    const int first = max(offer(pool, floor, logits.x, column), offer(pool, floor, logits.y, column + 1));
    const int second = max(offer(pool, floor, logits.z, column + 2), offer(pool, floor, logits.w, column + 3));
    return max(first, second);
}

/// Serve one row with the whole block: probs (k), indices (k).
__device__ void serve_row(const float* __restrict__ row, int vocab, int k, float* __restrict__ probs,
                          int* __restrict__ indices) {
    __shared__ Pool pool;
    const int head = head_of(row, vocab);
    const int vectors = (vocab - head) / VECTOR;
    const float4* body = reinterpret_cast<const float4*>(row + head);
    Partial partial = {-FLT_MAX, 0.0f};  // finite, so that a first logit of -inf does not give inf - inf

    if (threadIdx.x == 0) pool.count = 0;
    __syncthreads();
    take_columns(row, 0, head, pool, 0, partial);
    __syncthreads();
    uint32_t floor = keep_best(pool, k);

    float4 ahead = {};
    if (static_cast<int>(threadIdx.x) < vectors) ahead = body[threadIdx.x];
    for (int first = 0; first < vectors; first += THREADS) {
        const int vector = first + threadIdx.x;
        const float4 now = ahead;
        if (vector + THREADS < vectors) ahead = body[vector + THREADS];  // on its way while `now` is worked on
        int place = -1;
        if (vector < vectors) place = take_vector(now, head + vector * VECTOR, pool, floor, partial);
        if (__syncthreads_or(place >= CAPACITY - TILE)) floor = keep_best(pool, k);
    }
    take_columns(row, head + vectors * VECTOR, vocab, pool, floor, partial);

    const Partial total = merge_block(partial);
    keep_best(pool, k);
    for (int i = threadIdx.x; i < k; i += THREADS) {
        probs[i] = expf(logit_of(pool.keys[i]) - total.max) / total.sum;
        indices[i] = column_of(pool.keys[i]);
    }
}

__global__ void __launch_bounds__(THREADS)
    softmax_topk_kernel(const float* logits, int vocab, int k, float* probs, int* indices) {
    const size_t row = blockIdx.x;
    serve_row(logits + row * vocab, vocab, k, probs + row * k, indices + row * k);
}

}  // namespace

/// Probabilities and columns of the k largest logits of each row, in descending order; returns 0 or a CUDA error code.
///
/// logits (rows, vocab) need no alignment beyond their own 4 bytes. k is 1 to min(vocab, 256).
extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);
    return cudaGetLastError();
}
