// A block for each row gathers candidates in shared memory. When there may be no room for the next chunk it finds the
// k-th largest by bisection over the bits of the keys, counting at each bit, and closes ranks; only the last k are sorted,
// each by counting how many are ahead of it.
#include <cuda_runtime.h>

#include <float.h>
#include <stdint.h>

namespace {

constexpr int THREADS = 128;
constexpr int MAX_K = 256;
constexpr int CHUNK = 2 * THREADS;
constexpr int ROOM = 5 * CHUNK;

using Key = uint64_t;

struct Candidates {
    Key keys[ROOM];
    int count;
    int kept;
};

__device__ Key key_of(float logit, int column) {
    const int bits = __float_as_int(logit);
    const uint32_t rank = static_cast<uint32_t>(bits ^ (bits >> 31 & 0x7fffffff)) ^ 0x80000000u;
    return static_cast<Key>(rank) << 32 | (0xffffffffu - static_cast<uint32_t>(column));
}

__device__ float logit_of(Key key) {
    const int bits = static_cast<int>(static_cast<uint32_t>(key >> 32) ^ 0x80000000u);
    return __int_as_float(bits ^ (bits >> 31 & 0x7fffffff));
}

/// The k-th largest of the candidates, of which there are more than k. Keys are all different.
__device__ Key kth_largest(const Candidates& all, int k) {
    Key low = 0;
    for (int bit = 63; bit >= 0; --bit) {
        const Key middle = low | Key{1} << bit;
        int mine = 0;
        for (int i = threadIdx.x; i < all.count; i += THREADS) mine += all.keys[i] >= middle;
        // at most ROOM / THREADS = 10 each: counted bit by bit
        int total = 0;
        for (int b = 0; b < 4; ++b) total += __syncthreads_count(mine >> b & 1) << b;
        if (total >= k) low = middle;
        if (total == k) break;
    }
    return low;
}

/// Leave the k largest candidates, in any order; returns a key that later ones must beat.
__device__ Key prune(Candidates& all, int k) {
    __syncthreads();
    if (all.count <= k) return 0;
    const Key least = kth_largest(all, k);
    Key mine[ROOM / THREADS];
    int held = 0;
    for (int i = threadIdx.x; i < all.count; i += THREADS) {
        if (all.keys[i] >= least) mine[held++] = all.keys[i];
    }
    if (threadIdx.x == 0) all.kept = 0;
    __syncthreads();
    const int place = atomicAdd(&all.kept, held);
    for (int i = 0; i < held; ++i) all.keys[place + i] = mine[i];
    __syncthreads();
    if (threadIdx.x == 0) all.count = all.kept;
    __syncthreads();
    return least - 1;
}

__global__ void bisection_kernel(const float* logits, int vocab, int k, float* probs, int* indices) {
    __shared__ Candidates all;
    __shared__ float maxima[THREADS], sums[THREADS];
    const size_t row = blockIdx.x;
    const float* mine = logits + row * vocab;
    if (threadIdx.x == 0) all.count = 0;
    Key floor = 0;
    float max = -FLT_MAX, sum = 0.0f;
    __syncthreads();
    for (int first = 0; first < vocab; first += CHUNK) {
        for (int column = first + threadIdx.x; column < min(first + CHUNK, vocab); column += THREADS) {
            const float logit = mine[column];
            if (logit > max) {
                sum *= expf(max - logit);
                max = logit;
            }
            sum += expf(logit - max);
            const Key key = key_of(logit, column);
            if (key > floor) all.keys[atomicAdd(&all.count, 1)] = key;
        }
        __syncthreads();
        const bool full = all.count > ROOM - CHUNK;
        if (__syncthreads_or(full)) floor = prune(all, k);
    }
    prune(all, k);

    maxima[threadIdx.x] = max;
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float a = maxima[threadIdx.x], b = maxima[threadIdx.x + half], larger = fmaxf(a, b);
            sums[threadIdx.x] = sums[threadIdx.x] * expf(a - larger) + sums[threadIdx.x + half] * expf(b - larger);
            maxima[threadIdx.x] = larger;
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < k; i += THREADS) {
        int place = 0;
        for (int j = 0; j < k; ++j) place += all.keys[j] > all.keys[i];
        probs[row * k + place] = expf(logit_of(all.keys[i]) - maxima[0]) / sums[0];
        indices[row * k + place] = static_cast<int>(0xffffffffu - static_cast<uint32_t>(all.keys[i]));
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    bisection_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);
    return cudaGetLastError();
}
