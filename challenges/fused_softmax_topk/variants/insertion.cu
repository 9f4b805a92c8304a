// One warp for each row: it keeps the best k of the columns seen in a sorted list in shared memory, and inserts those
// that beat the last of them one after the other.
#include <cuda_runtime.h>

#include <float.h>

namespace {

constexpr unsigned ALL = 0xffffffffu;
constexpr int MAX_K = 256;
constexpr int ROWS = 4;  // warps of a block

struct List {
    float logits[MAX_K];
    int columns[MAX_K];
};

/// Put a candidate behind all that are larger or equal; the last one falls out of a full list.
__device__ void insert(List& list, int held, int k, float logit, int column, int lane) {
    int before = 0;
    for (int i = lane; i < held; i += 32) before += list.logits[i] >= logit;
    const int place = __reduce_add_sync(ALL, before);
    for (int top = held == k ? k - 1 : held; top > place; top -= 32) {
        const int i = top - lane;
        const bool moves = i > place;
        const float moved = moves ? list.logits[i - 1] : 0.0f;
        const int from = moves ? list.columns[i - 1] : 0;
        __syncwarp();
        if (moves) {
            list.logits[i] = moved;
            list.columns[i] = from;
        }
        __syncwarp();
    }
    if (lane == 0) {
        list.logits[place] = logit;
        list.columns[place] = column;
    }
    __syncwarp();
}

__global__ void insertion_kernel(const float* logits, int rows, int vocab, int k, float* probs, int* indices) {
    __shared__ List lists[ROWS];
    const int lane = threadIdx.x, row = blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows) return;
    List& list = lists[threadIdx.y];
    const float* mine = logits + static_cast<size_t>(row) * vocab;
    float max = -FLT_MAX, sum = 0.0f;
    int held = 0;
    for (int first = 0; first < vocab; first += 32) {
        const int column = first + lane;
        const bool there = column < vocab;
        const float logit = there ? mine[column] : 0.0f;
        if (there) {
            const float larger = fmaxf(max, logit);
            sum = sum * __expf(max - larger) + __expf(logit - larger);
            max = larger;
        }
        unsigned waiting = __ballot_sync(ALL, there && (held < k || logit > list.logits[k - 1]));
        while (waiting) {
            const int source = __ffs(waiting) - 1;
            const float candidate = __shfl_sync(ALL, logit, source);
            if (held < k || candidate > list.logits[k - 1]) {
                insert(list, held, k, candidate, first + source, lane);
                held = min(held + 1, k);
            }
            waiting &= waiting - 1;
        }
        __syncwarp();
    }
    float of_all = max;
    for (int distance = 16; distance > 0; distance /= 2) {
        of_all = fmaxf(of_all, __shfl_xor_sync(ALL, of_all, distance));
    }
    sum *= __expf(max - of_all);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(ALL, sum, distance);
    for (int i = lane; i < k; i += 32) {
        probs[static_cast<size_t>(row) * k + i] = __expf(list.logits[i] - of_all) / sum;
        indices[static_cast<size_t>(row) * k + i] = list.columns[i];
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return 1;
    insertion_kernel<<<(rows + ROWS - 1) / ROWS, dim3(32, ROWS), 0, stream>>>(logits, rows, vocab, k, probs, indices);
    return cudaGetLastError();
}
