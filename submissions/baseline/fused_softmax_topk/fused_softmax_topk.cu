// One block works on one row and reads it once; its eight warps share nothing until they have seen the whole of it.
//
// Each warp takes every eighth span of 128 columns. From each span
// * every lane adds its four logits to an online softmax of its own, and
// * logits above the warp's `floor`, the k-th largest it knows, go to a buffer in shared memory, side by side: a ballot
//   tells every lane its place. Before the buffer could overflow, the warp sorts it in registers, merges it into its
//   list of the 256 largest, and raises the floor.
// At the end four warps take over the lists of the other four, then two, then one: the row's 256 largest, exactly.
#include "fused_softmax_topk.h"

#include "keys.cuh"
#include "online_softmax.cuh"
#include "warp_list.cuh"

namespace {

constexpr int WARPS = 8;
constexpr int THREADS = WARPS * LANES;
constexpr int LOADS = 4;  // logits that a lane has on their way at once
constexpr int SPAN = LOADS * LANES;
static_assert(MAX_K <= LIST, "a list holds the k largest");
static_assert(LIST >= 2 * SPAN, "the buffer takes a span while it is at most half full");

/// What the warps tell one another through shared memory.
struct Shared {
    Key keys[WARPS][LIST];  // while a row is read: each warp's buffer; then: lists to be merged
    Softmax softmax[WARPS];
};

/// The logits that one warp has seen: a sorted list of the largest and a buffer of newer ones above the k-th of them.
class Selection {
public:
    __device__ Selection(Key* buffer, int k, int lane) : buffer_(buffer), k_(k), lane_(lane) {}

    /// Take a span of keys, LOADS of each lane; `last` if no other follows.
    __device__ void add(const Key (&keys)[LOADS], bool last) {
        bool above = false;
#pragma unroll
        for (int i = 0; i < LOADS; ++i) above |= keys[i] > floor_;
        if (__any_sync(ALL_LANES, above)) {
#pragma unroll
            for (int i = 0; i < LOADS; ++i) append(keys[i]);
        }
        if (buffered_ > (last ? 0 : LIST - SPAN)) flush();
    }

    /// The largest keys of all that were taken, once the last span was.
    __device__ const List& largest() const { return list_; }

private:
    /// Put the lanes' keys that are above the floor side by side behind those in the buffer.
    __device__ void append(Key key) {
        const unsigned above = __ballot_sync(ALL_LANES, key > floor_);
        const unsigned lanes_before = (1u << lane_) - 1;
        if (key > floor_) buffer_[buffered_ + __popc(above & lanes_before)] = key;
        buffered_ += __popc(above);
    }

    /// Merge the buffer into the list and raise the floor.
    __device__ void flush() {
        __syncwarp();
        List fresh = load(buffer_, buffered_, lane_);
        __syncwarp();
        sort(fresh, lane_);
        keep_largest(list_, fresh, lane_);
        floor_ = entry(list_, k_ - 1);
        buffered_ = 0;
    }

    List list_ = {};
    Key* buffer_;
    Key floor_ = NO_KEY;
    int buffered_ = 0;
    int k_;
    int lane_;
};

/// Columns by which a row begins behind a 128-byte boundary. Spans are counted from that boundary, so that the 32 lanes
/// of a load always share one aligned line, whatever the row's own alignment.
__device__ int columns_past_line(const float* row) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(row) / sizeof(float) % LANES);
}

/// Read one warp's spans of a row.
__device__ void read_row(const float* row, int vocab, int warp, int lane, Softmax& softmax, Selection& selection) {
    const int past = columns_past_line(row);
    const int end = past + vocab;
    for (int begin = warp * SPAN; begin < end; begin += WARPS * SPAN) {
        float logits[LOADS];
        Key keys[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const int column = begin + i * LANES + lane - past;
            const bool inside = column >= 0 && column < vocab;
            logits[i] = inside ? row[column] : -INFINITY;
            keys[i] = inside ? key_of(logits[i], column) : NO_KEY;
        }
        softmax.add(logits);
        selection.add(keys, begin + WARPS * SPAN >= end);
    }
}

/// The softmax over all lanes of a warp, told to each.
__device__ Softmax merge_lanes(Softmax softmax) {
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        Softmax other;
        other.max = __shfl_xor_sync(ALL_LANES, softmax.max, distance);
        other.sum = __shfl_xor_sync(ALL_LANES, softmax.sum, distance);
        softmax.merge(other);
    }
    return softmax;
}

/// Merge all warps' lists; entry i of the row's list is then at shared.keys[0][place_of(i)] for every thread.
__device__ void merge_warps(Shared& shared, List list, int warp, int lane) {
    store(list, shared.keys[warp], lane);
    for (int left = WARPS / 2; left > 0; left /= 2) {
        __syncthreads();
        if (warp < left) {
            keep_largest(list, load(shared.keys[warp + left], LIST, lane), lane);
            store(list, shared.keys[warp], lane);
        }
    }
    __syncthreads();
}

__global__ void __launch_bounds__(THREADS)
    fused_softmax_topk_kernel(const float* __restrict__ logits, int vocab, int k, float* __restrict__ probs,
                              int* __restrict__ indices) {
    __shared__ Shared shared;
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const size_t row = blockIdx.x;

    Softmax softmax = NOTHING_SEEN;
    Selection selection(shared.keys[warp], k, lane);
    read_row(logits + row * vocab, vocab, warp, lane, softmax, selection);

    softmax = merge_lanes(softmax);
    if (lane == 0) shared.softmax[warp] = softmax;
    merge_warps(shared, selection.largest(), warp, lane);
    softmax = shared.softmax[0];
    for (int other = 1; other < WARPS; ++other) softmax.merge(shared.softmax[other]);

    for (int i = threadIdx.x; i < k; i += THREADS) {
        const Key key = shared.keys[0][place_of(i)];
        probs[row * k + i] = softmax.probability(logit_of(key));
        indices[row * k + i] = column_of(key);
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    fused_softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);
    return cudaGetLastError();
}
