// A fixed grid whose warps take rows in turn. Each lane holds back what beats the warp's k-th best in a short queue of its
// own; when one of the queues is full, the warp sorts all of them together with the best k, in shared memory.
#include <cuda_runtime.h>

#include <float.h>
#include <stdint.h>

namespace {

constexpr unsigned ALL = 0xffffffffu;
constexpr int MAX_K = 256;
constexpr int DEPTH = 8;  // of a lane's queue
constexpr int ROOM = MAX_K + 32 * DEPTH;
constexpr int WARPS = 2;
constexpr int BLOCKS = 96;

using Key = unsigned long long;

__device__ Key key_of(float logit, int column) {
    const uint32_t bits = __float_as_uint(logit);
    const uint32_t rank = bits >> 31 ? ~bits : bits | 0x80000000u;
    return static_cast<Key>(rank) << 32 | static_cast<uint32_t>(column);
}

__device__ float logit_of(Key key) {
    const uint32_t rank = static_cast<uint32_t>(key >> 32);
    return __uint_as_float(rank >> 31 ? rank & 0x7fffffffu : ~rank);
}

/// Sort `size` keys, a power of two, in descending order with one warp.
__device__ void sort(Key* keys, int size, int lane) {
    for (int run = 2; run <= size; run <<= 1) {
        for (int stride = run >> 1; stride > 0; stride >>= 1) {
            for (int i = lane; i < size; i += 32) {
                const int partner = i ^ stride;
                if (partner <= i || (keys[i] < keys[partner]) != ((i & run) == 0)) continue;
                const Key moved = keys[i];
                keys[i] = keys[partner];
                keys[partner] = moved;
            }
            __syncwarp();
        }
    }
}

/// Empty the queues of all lanes behind the best `held`, and keep the best k; returns how many are held now.
__device__ int merge(Key* keys, const Key* queue, int queued, int held, int k, int lane) {
    int before = queued;
    for (int distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(ALL, before, distance);
        if (lane >= distance) before += other;
    }
    const int count = held + __shfl_sync(ALL, before, 31);
    for (int i = 0; i < queued; ++i) keys[held + before - queued + i] = queue[i];
    int size = 1;
    while (size < count) size *= 2;
    for (int i = count + lane; i < size; i += 32) keys[i] = 0;
    __syncwarp();
    sort(keys, size, lane);
    return min(count, k);
}

__global__ void __launch_bounds__(32 * WARPS)
    queue_kernel(const float* __restrict__ logits, int rows, int vocab, int k, float* probs, int* indices) {
    __shared__ Key pools[WARPS][ROOM];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Key* keys = pools[warp];
    for (long long row = blockIdx.x * WARPS + warp; row < rows; row += gridDim.x * WARPS) {
        const float* mine = logits + row * vocab;
        Key queue[DEPTH];
        Key floor = 0;
        int queued = 0, held = 0;
        float max = -FLT_MAX, sum = 0.0f;
        for (int first = 0; first < vocab; first += 32) {
            const int column = first + lane;
            if (column < vocab) {
                const float logit = __ldg(mine + column);
                const float larger = fmaxf(max, logit);
                sum = sum * expf(max - larger) + expf(logit - larger);
                max = larger;
                const Key key = key_of(logit, column);
                if (key > floor) queue[queued++] = key;
            }
            if (!__any_sync(ALL, queued == DEPTH)) continue;
            held = merge(keys, queue, queued, held, k, lane);
            queued = 0;
            floor = held == k ? keys[k - 1] : 0;
            __syncwarp();
        }
        held = merge(keys, queue, queued, held, k, lane);
        float of_all = max;
        for (int distance = 16; distance > 0; distance >>= 1) {
            of_all = fmaxf(of_all, __shfl_down_sync(ALL, of_all, distance));
        }
        of_all = __shfl_sync(ALL, of_all, 0);
        sum *= expf(max - of_all);
        for (int distance = 16; distance > 0; distance >>= 1) sum += __shfl_down_sync(ALL, sum, distance);
        const float scale = __shfl_sync(ALL, sum, 0);
        for (int i = lane; i < k; i += 32) {
            probs[row * k + i] = expf(logit_of(keys[i]) - of_all) / scale;
            indices[row * k + i] = static_cast<int>(keys[i] & 0xffffffffu);
        }
        __syncwarp();
    }
}

}  // namespace

extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
    if (rows < 1 || k < 1 || k > vocab || k > MAX_K) return cudaErrorInvalidValue;
    queue_kernel<<<min(BLOCKS, (rows - 1) / WARPS + 1), 32 * WARPS, 0, stream>>>(logits, rows, vocab, k, probs, indices);
    return cudaGetLastError();
}
