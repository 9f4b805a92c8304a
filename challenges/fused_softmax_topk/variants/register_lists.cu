// A warp for each row, with the best of it in registers: entry i of the sorted list lies in lane i % 32, slot i / 32, and a
// newcomer moves all behind it on by one lane. How many slots there are is a template argument, chosen by k; how wide the
// loads are is another, chosen by the alignment.
#include <cuda_runtime.h>

#include <float.h>
#include <stdint.h>

namespace {

constexpr unsigned ALL = 0xffffffffu;
constexpr int MAX_K = 256;
constexpr int ROWS = 4;  // warps of a block

template <int SLOTS>
struct List {
    float logits[SLOTS];
    int columns[SLOTS];  // -1: nothing there yet
    int k;
    float floor;
    bool full;

    __device__ explicit List(int k) : k(k), floor(-INFINITY), full(false) {
        for (int s = 0; s < SLOTS; ++s) {
            logits[s] = -INFINITY;
            columns[s] = -1;
        }
    }

    __device__ bool wants(float logit) const { return !full || logit > floor; }

    __device__ void insert(float logit, int column, int lane) {
        int place = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) place += __popc(__ballot_sync(ALL, columns[s] >= 0 && logits[s] >= logit));
#pragma unroll
        for (int s = SLOTS - 1; s >= 0; --s) {
            float before = __shfl_up_sync(ALL, logits[s], 1);
            int column_before = __shfl_up_sync(ALL, columns[s], 1);
            if (s > 0) {
                const float last = __shfl_sync(ALL, logits[s > 0 ? s - 1 : 0], 31);
                const int column_last = __shfl_sync(ALL, columns[s > 0 ? s - 1 : 0], 31);
                before = lane == 0 ? last : before;
                column_before = lane == 0 ? column_last : column_before;
            }
            const int i = s * 32 + lane;
            logits[s] = i == place ? logit : i > place ? before : logits[s];
            columns[s] = i == place ? column : i > place ? column_before : columns[s];
        }
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) {
            if (s != (k - 1) / 32) continue;
            floor = __shfl_sync(ALL, logits[s], (k - 1) % 32);
            full = __shfl_sync(ALL, columns[s], (k - 1) % 32) >= 0;
        }
    }
};

template <int WIDTH>
__device__ void load(const float* row, int column, float (&logits)[WIDTH]) {
    if (WIDTH == 4) {
        const float4 four = *reinterpret_cast<const float4*>(row + column);
        logits[0] = four.x, logits[WIDTH > 1] = four.y, logits[WIDTH > 1 ? 2 : 0] = four.z;
        logits[WIDTH > 1 ? 3 : 0] = four.w;
    } else {
        logits[0] = row[column];
    }
}

/// WIDTH columns for each lane at a time; with WIDTH 4 rows begin at 16-byte boundaries and are multiples of 4 long.
template <int SLOTS, int WIDTH>
__global__ void list_kernel(const float* logits, int rows, int vocab, int k, float* probs, int* indices) {
    const int lane = threadIdx.x, row = blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows) return;
    const float* mine = logits + static_cast<size_t>(row) * vocab;
    List<SLOTS> list(k);
    float max = -FLT_MAX, sum = 0.0f;
    for (int first = 0; first < vocab; first += 32 * WIDTH) {
        const int column = first + lane * WIDTH;
        const bool there = column < vocab;
        float own[WIDTH];
        if (there) load<WIDTH>(mine, column, own);
        for (int w = 0; there && w < WIDTH; ++w) {
            const float larger = fmaxf(max, own[w]);
            sum = sum * expf(max - larger) + expf(own[w] - larger);
            max = larger;
        }
        for (int w = 0; w < WIDTH; ++w) {
            unsigned waiting = __ballot_sync(ALL, there && list.wants(own[w]));
            for (; waiting; waiting &= waiting - 1) {
                const int source = __ffs(waiting) - 1;
                const float newcomer = __shfl_sync(ALL, own[w], source);
                if (list.wants(newcomer)) list.insert(newcomer, first + source * WIDTH + w, lane);
            }
        }
    }
    float of_all = max;
    for (int distance = 16; distance > 0; distance /= 2) {
        of_all = fmaxf(of_all, __shfl_xor_sync(ALL, of_all, distance));
    }
    sum *= expf(max - of_all);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(ALL, sum, distance);
    const size_t out = static_cast<size_t>(row) * k;
#pragma unroll
    for (int s = 0; s < SLOTS; ++s) {
        const int i = s * 32 + lane;
        if (i >= k) continue;
        probs[out + i] = expf(list.logits[s] - of_all) / sum;
        indices[out + i] = list.columns[s];
    }
}

template <int SLOTS>
void start(const float* logits, int rows, int vocab, int k, float* probs, int* indices, cudaStream_t stream) {
    const int blocks = (rows - 1) / ROWS + 1;
    const bool aligned = reinterpret_cast<uintptr_t>(logits) % sizeof(float4) == 0 && vocab % 4 == 0;
    const auto kernel = aligned ? list_kernel<SLOTS, 4> : list_kernel<SLOTS, 1>;
    kernel<<<blocks, dim3(32, ROWS), 0, stream>>>(logits, rows, vocab, k, probs, indices);
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    const auto serve = k <= 32 ? start<1> : k <= 64 ? start<2> : k <= 128 ? start<4> : start<8>;
    serve(logits, rows, vocab, k, probs, indices, stream);
    return cudaGetLastError();
}
