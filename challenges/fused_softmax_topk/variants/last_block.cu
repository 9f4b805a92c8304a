// Long rows are divided among blocks; the last of a row's blocks to end, known by an atomic counter, merges what all of
// them left in a scratch. Short rows have one block, which merges with nobody.
#include <cuda_runtime.h>

#include <float.h>

namespace {

constexpr int THREADS = 64;
constexpr int WARPS = THREADS / 32;
constexpr int MAX_K = 256;
constexpr int PART = 16384;  // columns of a block, at least
constexpr int MOST_PARTS = 4;
constexpr int ROOM = MAX_K * MOST_PARTS;

using Key = unsigned long long;

struct Sum {
    float max;
    float sum;
};

struct Scratch {
    Key* keys;     // (rows, parts, k)
    Sum* sums;     // (rows, parts)
    unsigned* ended;  // (rows,)
};

__device__ Key key_of(float logit, int column) {
    const unsigned bits = __float_as_uint(logit);
    return static_cast<Key>(bits & 0x80000000u ? ~bits : bits | 0x80000000u) << 32 | ~static_cast<unsigned>(column);
}

__device__ float logit_of(Key key) {
    const unsigned rank = static_cast<unsigned>(key >> 32);
    return __uint_as_float(rank & 0x80000000u ? rank ^ 0x80000000u : ~rank);
}

__device__ Sum merged(Sum a, Sum b) {
    const float max = fmaxf(a.max, b.max);
    return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

/// Sort ROOM keys or fewer in descending order: odd-even merges of runs that double.
__device__ void sort(Key* keys, int count) {
    for (int run = 1; run < count; run *= 2) {
        for (int stride = run; stride > 0; stride /= 2) {
            for (int low = stride % run + threadIdx.x; low + stride < count; low += THREADS) {
                if ((low - stride % run) / stride % 2 || low / (2 * run) != (low + stride) / (2 * run)) continue;
                const Key a = keys[low], b = keys[low + stride];
                if (a >= b) continue;
                keys[low] = b;
                keys[low + stride] = a;
            }
            __syncthreads();
        }
    }
}

__device__ Sum block_sum(Sum mine) {
    __shared__ Sum of_warp[WARPS];
    for (int distance = 16; distance > 0; distance /= 2) {
        mine = merged(mine, {__shfl_xor_sync(~0u, mine.max, distance), __shfl_xor_sync(~0u, mine.sum, distance)});
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    Sum total = of_warp[0];
    for (int warp = 1; warp < WARPS; ++warp) total = merged(total, of_warp[warp]);
    __syncthreads();
    return total;
}

/// The best k of the columns [begin, end), sorted, in front of `pool`; returns how many.
__device__ int take_part(const float* row, int begin, int end, int k, Key* pool, int& count, Sum& sum) {
    Key floor = 0;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (int first = begin; first < end; first += THREADS) {
        const int column = first + threadIdx.x;
        int place = -1;
        if (column < end) {
            const float logit = row[column];
            sum = merged(sum, {fmaxf(logit, -FLT_MAX), logit < -FLT_MAX ? 0.0f : 1.0f});
            const Key key = key_of(logit, column);
            if (key > floor) pool[place = atomicAdd(&count, 1)] = key;
        }
        if (!__syncthreads_or(place >= ROOM - THREADS)) continue;
        sort(pool, count);
        floor = pool[k - 1];
        __syncthreads();
        if (threadIdx.x == 0) count = k;
        __syncthreads();
    }
    const int held = count;
    sort(pool, held);
    return min(held, k);
}

__global__ void part_kernel(const float* logits, int vocab, int k, Scratch scratch, float* probs, int* indices) {
    __shared__ Key pool[ROOM];
    __shared__ int count;
    __shared__ bool last;
    const size_t row = blockIdx.x;
    const int parts = gridDim.y, part = blockIdx.y;
    const int length = (vocab - 1) / parts + 1, begin = min(part * length, vocab), end = min(begin + length, vocab);
    Sum sum = {-FLT_MAX, 0.0f};
    const int held = take_part(logits + row * vocab, begin, end, k, pool, count, sum);
    sum = block_sum(sum);
    Key* left = scratch.keys + row * parts * k;
    for (int i = threadIdx.x; i < k; i += THREADS) left[part * k + i] = i < held ? pool[i] : 0;
    if (threadIdx.x == 0) scratch.sums[row * parts + part] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(scratch.ended + row, 1u) == parts - 1;
    __syncthreads();
    if (!last) return;

    __threadfence();
    for (int i = threadIdx.x; i < parts * k; i += THREADS) pool[i] = left[i];
    __syncthreads();
    sort(pool, parts * k);
    Sum total = scratch.sums[row * parts];
    for (int i = 1; i < parts; ++i) total = merged(total, scratch.sums[row * parts + i]);
    for (int i = threadIdx.x; i < k; i += THREADS) {
        probs[row * k + i] = expf(logit_of(pool[i]) - total.max) / total.sum;
        indices[row * k + i] = static_cast<int>(~static_cast<unsigned>(pool[i]));
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    const int parts = max(1, min(vocab / PART, MOST_PARTS));
    const size_t places = static_cast<size_t>(rows) * parts;
    const size_t bytes = places * (k * sizeof(Key) + sizeof(Sum)) + rows * sizeof(unsigned);
    void* memory = nullptr;
    const cudaError_t failed = cudaMallocAsync(&memory, bytes, stream);
    if (failed != cudaSuccess) return failed;
    Scratch scratch;
    scratch.keys = static_cast<Key*>(memory);
    scratch.sums = reinterpret_cast<Sum*>(scratch.keys + places * k);
    scratch.ended = reinterpret_cast<unsigned*>(scratch.sums + places);
    cudaMemsetAsync(scratch.ended, 0, rows * sizeof(unsigned), stream);
    part_kernel<<<dim3(rows, parts), THREADS, 0, stream>>>(logits, vocab, k, scratch, probs, indices);
    cudaFreeAsync(memory, stream);
    return cudaGetLastError();
}
