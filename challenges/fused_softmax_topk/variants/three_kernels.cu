// Three kernels. The first sums each row; the second leaves the best k of each of its parts in a scratch, every warp with
// a part of its own; the third merges the sorted parts, each thread of it finding the place of one candidate by binary
// search in the other parts.
#include <cuda_runtime.h>

#include <float.h>

namespace {

constexpr int MAX_K = 256;
constexpr int PARTS = 4;  // and warps of a block of the second kernel
constexpr int THREADS = 256;

struct Candidate {
    float logit;
    int column;
};

struct Sum {
    float max;
    float sum;
};

__device__ bool ahead(Candidate a, Candidate b) {
    return a.logit > b.logit || (a.logit == b.logit && a.column < b.column);
}

__global__ void sum_kernel(const float* logits, int vocab, Sum* sums) {
    __shared__ Sum parts[THREADS];
    const float* row = logits + static_cast<size_t>(blockIdx.x) * vocab;
    Sum mine = {-FLT_MAX, 0.0f};
    for (int column = threadIdx.x; column < vocab; column += THREADS) {
        const float logit = row[column], larger = fmaxf(mine.max, logit);
        mine.sum = mine.sum * expf(mine.max - larger) + expf(logit - larger);
        mine.max = larger;
    }
    parts[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    float max = -FLT_MAX, sum = 0.0f;
    for (int i = threadIdx.x; i < THREADS; i += 32) max = fmaxf(max, parts[i].max);
    for (int distance = 16; distance > 0; distance /= 2) max = fmaxf(max, __shfl_xor_sync(~0u, max, distance));
    for (int i = threadIdx.x; i < THREADS; i += 32) sum += parts[i].sum * expf(parts[i].max - max);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    if (threadIdx.x == 0) sums[blockIdx.x] = {max, sum};
}

/// A sorted list of a warp, into which it merges 32 columns at a time.
__global__ void part_kernel(const float* logits, int vocab, int k, Candidate* best) {
    __shared__ Candidate lists[PARTS][MAX_K + 32];
    const int lane = threadIdx.x % 32, part = threadIdx.x / 32;
    const float* row = logits + static_cast<size_t>(blockIdx.x) * vocab;
    const int begin = static_cast<int>(static_cast<long long>(vocab) * part / PARTS);
    const int end = static_cast<int>(static_cast<long long>(vocab) * (part + 1) / PARTS);
    Candidate* list = lists[part];
    int held = 0;
    for (int first = begin; first < end; first += 32) {
        const int column = first + lane;
        const Candidate mine = {column < end ? row[column] : 0.0f, column};
        const bool joins = column < end && (held < k || ahead(mine, list[k - 1]));
        unsigned joining = __ballot_sync(~0u, joins);
        if (!joining) continue;
        // the place of mine: those ahead in the list, and those ahead among the newcomers
        int place = 0;
        for (int low = 0, high = held; low < high; place = low) {
            const int middle = (low + high) / 2;
            if (ahead(list[middle], mine)) low = middle + 1;
            else high = middle;
        }
        const int behind = place;
        for (int other = 0; other < 32; ++other) {
            const Candidate theirs = {__shfl_sync(~0u, mine.logit, other), first + other};
            if (joining >> other & 1) place += ahead(theirs, mine);
        }
        // from the back, the list makes way: each entry moves by the number of newcomers ahead of it
        for (int top = held - 1; top >= 0; top -= 32) {
            const int i = top - lane;
            const Candidate moved = i >= 0 ? list[i] : Candidate{0.0f, 0};
            int by = 0;
            for (int other = 0; other < 32; ++other) {
                const int before = __shfl_sync(~0u, behind, other);
                if (joining >> other & 1) by += before <= i;
            }
            __syncwarp();
            if (i >= 0) list[i + by] = moved;
            __syncwarp();
        }
        if (joins) list[place] = mine;
        __syncwarp();
        held = min(held + __popc(joining), k);
    }
    Candidate* mine = best + (static_cast<size_t>(blockIdx.x) * PARTS + part) * k;
    for (int i = lane; i < k; i += 32) mine[i] = i < held ? list[i] : Candidate{-INFINITY, vocab + part * k + i};
}

__global__ void merge_kernel(const Candidate* best, const Sum* sums, int k, float* probs, int* indices) {
    const Candidate* lists = best + static_cast<size_t>(blockIdx.x) * PARTS * k;
    const size_t out = static_cast<size_t>(blockIdx.x) * k;
    const Sum sum = sums[blockIdx.x];
    for (int i = threadIdx.x; i < PARTS * k; i += blockDim.x) {
        const Candidate mine = lists[i];
        int place = 0;
        for (int part = 0; part < PARTS; ++part) {
            int low = 0, high = k;
            while (low < high) {
                const int middle = (low + high) / 2;
                if (ahead(lists[part * k + middle], mine)) low = middle + 1;
                else high = middle;
            }
            place += low;
        }
        if (place >= k) continue;
        probs[out + place] = expf(mine.logit - sum.max) / sum.sum;
        indices[out + place] = mine.column;
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    Candidate* best = nullptr;
    const size_t candidates = static_cast<size_t>(rows) * PARTS * k;
    const size_t bytes = candidates * sizeof(Candidate) + rows * sizeof(Sum);
    const cudaError_t failed = cudaMallocAsync(reinterpret_cast<void**>(&best), bytes, stream);
    if (failed != cudaSuccess) return failed;
    Sum* sums = reinterpret_cast<Sum*>(best + candidates);
    sum_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, sums);
    part_kernel<<<rows, 32 * PARTS, 0, stream>>>(logits, vocab, k, best);
    merge_kernel<<<rows, 128, 0, stream>>>(best, sums, k, probs, indices);
    cudaFreeAsync(best, stream);
    return cudaGetLastError();
}
