// One thread for each row. A block loads tiles of its rows into shared memory, whole warps along a row, and each thread
// then walks along its own row of the tile. Its best k lie in a min-heap in local memory, sorted at the end.
#include <cuda_runtime.h>

#include <float.h>

namespace {

constexpr int MAX_K = 256;
constexpr int ROWS = 32;   // rows, and threads, of a block
constexpr int WIDTH = 32;  // columns of a tile

struct Heap {
    float logits[MAX_K];
    int columns[MAX_K];
    int size = 0;

    __device__ void put(int at, float logit, int column) {
        logits[at] = logit;
        columns[at] = column;
    }

    __device__ void sink(int at, float logit, int column, int bound) {
        while (2 * at + 1 < bound) {
            int child = 2 * at + 1;
            if (child + 1 < bound && logits[child + 1] < logits[child]) ++child;
            if (logits[child] >= logit) break;
            put(at, logits[child], columns[child]);
            at = child;
        }
        put(at, logit, column);
    }

    __device__ void offer(int k, float logit, int column) {
        if (size == k) {
            if (logit > logits[0]) sink(0, logit, column, k);
            return;
        }
        int at = size++;
        for (; at > 0 && logits[(at - 1) / 2] > logit; at = (at - 1) / 2) {
            put(at, logits[(at - 1) / 2], columns[(at - 1) / 2]);
        }
        put(at, logit, column);
    }
};

__global__ void thread_kernel(const float* __restrict__ logits, int rows, int vocab, int k, float* probs,
                              int* indices) {
    __shared__ float tile[ROWS][WIDTH + 1];
    const int first_row = blockIdx.x * ROWS, here = min(ROWS, rows - first_row), row = threadIdx.x;
    const float* mine = logits + static_cast<size_t>(first_row) * vocab;
    Heap heap;
    float max = -FLT_MAX, sum = 0.0f;
    for (int first = 0; first < vocab; first += WIDTH) {
        const int width = min(WIDTH, vocab - first);
        for (int r = 0; r < here; ++r) {
            if (threadIdx.x < width) tile[r][threadIdx.x] = mine[static_cast<size_t>(r) * vocab + first + threadIdx.x];
        }
        __syncthreads();
        for (int c = 0; row < here && c < width; ++c) {
            const float logit = tile[row][c];
            if (logit > max) {
                sum = sum * expf(max - logit) + 1.0f;
                max = logit;
            } else {
                sum += expf(logit - max);
            }
            heap.offer(k, logit, first + c);
        }
        __syncthreads();
    }
    if (row >= here) return;
    const size_t out = static_cast<size_t>(first_row + row) * k;
    for (int last = k - 1; last >= 0; --last) {
        probs[out + last] = expf(heap.logits[0] - max) / sum;
        indices[out + last] = heap.columns[0];
        heap.sink(0, heap.logits[last], heap.columns[last], last);
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    thread_kernel<<<(rows - 1) / ROWS + 1, ROWS, 0, stream>>>(logits, rows, vocab, k, probs, indices);
    return cudaGetLastError();
}
