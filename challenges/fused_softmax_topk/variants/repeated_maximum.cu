// One warp for each row. It collects what may be among the best k in shared memory and, whenever that is full and at the
// end, takes the maximum out k times. Sums are carried in double precision.
#include <cuda_runtime.h>

#include <float.h>

namespace {

constexpr unsigned WARP = 0xffffffffu;
constexpr int MAX_K = 256;
constexpr int ROOM = 1024;
constexpr int TAKEN = -1;

struct Row {
    float logits[ROOM];
    int columns[ROOM];
    float best[MAX_K];
    int best_columns[MAX_K];
};

/// Move the largest min(count, k) to the front, in order; returns how many those are.
__device__ int select(Row& row, int count, int k, int lane) {
    const int wanted = min(count, k);
    for (int place = 0; place < wanted; ++place) {
        float top = -INFINITY;
        int at = ROOM;
        for (int i = lane; i < count; i += 32) {
            if (row.columns[i] != TAKEN && (at == ROOM || row.logits[i] > top)) {
                top = row.logits[i];
                at = i;
            }
        }
        for (int distance = 16; distance > 0; distance /= 2) {
            const float other = __shfl_xor_sync(WARP, top, distance);
            const int other_at = __shfl_xor_sync(WARP, at, distance);
            const bool better = other_at != ROOM && (at == ROOM || other > top || (other == top && other_at < at));
            top = better ? other : top;
            at = better ? other_at : at;
        }
        if (lane == 0) {
            row.best[place] = top;
            row.best_columns[place] = row.columns[at];
            row.columns[at] = TAKEN;
        }
        __syncwarp();
    }
    for (int i = lane; i < wanted; i += 32) {
        row.logits[i] = row.best[i];
        row.columns[i] = row.best_columns[i];
    }
    __syncwarp();
    return wanted;
}

__global__ void maximum_kernel(const float* logits, int vocab, int k, float* probs, int* indices) {
    __shared__ Row row;
    const int lane = threadIdx.x;
    const float* mine = logits + static_cast<size_t>(blockIdx.x) * vocab;
    float max = -FLT_MAX, floor = -INFINITY;
    double sum = 0.0;
    int count = 0;
    bool any = true;  // whether -inf and other logits that equal the floor may still be among the best
    for (int first = 0; first < vocab; first += 32) {
        const int column = first + lane;
        const bool there = column < vocab;
        const float logit = there ? mine[column] : 0.0f;
        if (there) {
            const float larger = fmaxf(max, logit);
            sum = sum * exp(static_cast<double>(max) - larger) + expf(logit - larger);
            max = larger;
        }
        const bool joins = there && (any || logit > floor);
        const unsigned joining = __ballot_sync(WARP, joins);
        if (joins) {
            const int place = count + __popc(joining & ((1u << lane) - 1));
            row.logits[place] = logit;
            row.columns[place] = column;
        }
        count += __popc(joining);
        __syncwarp();
        if (count <= ROOM - 32) continue;
        count = select(row, count, k, lane);
        any = false;  // ROOM - 32 and more were there: at least k
        floor = row.logits[k - 1];
        __syncwarp();
    }
    select(row, count, k, lane);
    float of_all = max;
    for (int distance = 16; distance > 0; distance /= 2) {
        of_all = fmaxf(of_all, __shfl_xor_sync(WARP, of_all, distance));
    }
    sum *= exp(static_cast<double>(max) - of_all);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(WARP, sum, distance);
    const size_t out = static_cast<size_t>(blockIdx.x) * k;
    for (int i = lane; i < k; i += 32) {
        probs[out + i] = static_cast<float>(expf(row.logits[i] - of_all) / sum);
        indices[out + i] = row.columns[i];
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    maximum_kernel<<<rows, 32, 0, stream>>>(logits, vocab, k, probs, indices);
    return cudaGetLastError();
}
