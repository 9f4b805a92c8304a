// One block per row in both kernels. The logits are read three times, the softmax is written once and read k times.
#include "naive.h"

#include "keys.cuh"
#include "online_softmax.cuh"

namespace {

constexpr int THREADS = 256;

struct Larger {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a > b ? a : b;
    }
};

struct Plus {
    __device__ float operator()(float a, float b) const { return a + b; }
};

/// All threads' values combined by a tree in shared memory, told to every thread.
template <class T, class Combine>
__device__ T reduce(T mine, Combine combine) {
    __shared__ T values[THREADS];
    values[threadIdx.x] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
    }
    __syncthreads();
    const T result = values[0];
    __syncthreads();
    return result;
}

__global__ void softmax_kernel(const float* logits, int vocab, float* softmax) {
    const float* row = logits + static_cast<size_t>(blockIdx.x) * vocab;
    float* out = softmax + static_cast<size_t>(blockIdx.x) * vocab;
    float max = -FLT_MAX, sum = 0.0f;
    for (int column = threadIdx.x; column < vocab; column += THREADS) max = fmaxf(max, row[column]);
    max = reduce(max, Larger());
    for (int column = threadIdx.x; column < vocab; column += THREADS) sum += expf(row[column] - max);
    sum = reduce(sum, Plus());
    for (int column = threadIdx.x; column < vocab; column += THREADS) out[column] = expf(row[column] - max) / sum;
}

/// k times the largest probability below the last one found.
__global__ void topk_kernel(const float* softmax, int vocab, int k, float* probs, int* indices) {
    const float* row = softmax + static_cast<size_t>(blockIdx.x) * vocab;
    Key last = ~NO_KEY;
    for (int i = 0; i < k; ++i) {
        Key best = NO_KEY;
        for (int column = threadIdx.x; column < vocab; column += THREADS) {
            const Key key = key_of(row[column], column);
            if (key < last && key > best) best = key;
        }
        last = reduce(best, Larger());
        if (threadIdx.x == 0) {
            probs[static_cast<size_t>(blockIdx.x) * k + i] = logit_of(last);
            indices[static_cast<size_t>(blockIdx.x) * k + i] = column_of(last);
        }
    }
}

}  // namespace

int naive_softmax_topk(const float* logits, int rows, int vocab, int k, float* softmax, float* probs, int* indices,
                       cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab) return cudaErrorInvalidValue;
    softmax_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, softmax);
    topk_kernel<<<rows, THREADS, 0, stream>>>(softmax, vocab, k, probs, indices);
    return cudaGetLastError();
}
