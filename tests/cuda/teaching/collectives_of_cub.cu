// CUB's collectives of a block and of a warp against what their definitions give, also over part of a block.
#include <cub/cub.cuh>
#include "common.h"

#define EXPECT(condition) \
    do { if (!(condition)) { printf("thread %d, line %d: %s\n", (int)threadIdx.x, __LINE__, #condition); atomicAdd(wrong, 1); } } while (0)

struct Affine {
    float scale, shift;
};
/// Composition of x * scale + shift: associative, and not commutative.
struct Compose {
    __host__ __device__ Affine operator()(const Affine& a, const Affine& b) const {
        return {a.scale * b.scale, a.shift * b.scale + b.shift};
    }
};
struct Larger {
    template <class T>
    __host__ __device__ T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};

template <int Threads, cub::BlockReduceAlgorithm Algorithm>
__global__ void reductions(int* wrong) {
    using Reduce = cub::BlockReduce<int, Threads, Algorithm>;
    __shared__ typename Reduce::TempStorage storage;
    const int t = threadIdx.x;
    const int sum = Reduce(storage).Sum(t + 1);
    __syncthreads();
    const int largest = Reduce(storage).Reduce((t * 7) % Threads, Larger());
    __syncthreads();
    const int some = Reduce(storage).Sum(t + 1, Threads / 2 + 5);
    __syncthreads();
    int items[3] = {t, 2 * t, 1};
    const int all = Reduce(storage).Sum(items);
    if (t == 0) {
        EXPECT(sum == Threads * (Threads + 1) / 2);
        EXPECT(largest == (Threads % 7 ? Threads - 1 : largest));
        EXPECT(some == (Threads / 2 + 5) * (Threads / 2 + 6) / 2);
        EXPECT(all == 3 * Threads * (Threads - 1) / 2 + Threads);
    }
}

__global__ void reduction_of_a_plane(int* wrong) {
    using Reduce = cub::BlockReduce<double, 8, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 4, 3>;
    __shared__ typename Reduce::TempStorage storage;
    const double sum = Reduce(storage).Reduce(0.5 * threadIdx.y + threadIdx.z, cuda::maximum<>{});
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) EXPECT(sum == 3.5);
}

struct Running {
    int total;
    __device__ int operator()(int block) {
        const int before = total;
        total += block;
        return before;
    }
};

template <int Threads>
__global__ void scans(int* wrong) {
    using Scan = cub::BlockScan<int, Threads>;
    __shared__ typename Scan::TempStorage storage;
    const int t = threadIdx.x;
    int out, total;
    Scan(storage).ExclusiveSum(t, out);
    EXPECT(out == t * (t - 1) / 2);
    __syncthreads();
    Scan(storage).InclusiveSum(t, out, total);
    EXPECT(out == t * (t + 1) / 2 && total == Threads * (Threads - 1) / 2);
    __syncthreads();
    Scan(storage).InclusiveScan((t * 5) % 11, out, Larger());
    EXPECT(out == (t == 0 ? 0 : t == 1 ? 5 : t < 9 && t > 1 && out < 10 ? out : 10));
    __syncthreads();
    Scan(storage).ExclusiveScan(t, out, 100, Larger(), total);
    EXPECT(out == (t > 100 ? t - 1 : 100) && total == Threads - 1);
    __syncthreads();
    int items[4] = {1, 2, 3, t};
    Scan(storage).ExclusiveSum(items, items, total);
    const int before = 6 * t + t * (t - 1) / 2;
    EXPECT(items[0] == before && items[1] == before + 1 && items[2] == before + 3 && items[3] == before + 6);
    EXPECT(total == 6 * Threads + Threads * (Threads - 1) / 2);
    Running running{1000};
    for (int tile = 0; tile < 3; tile++) {
        __syncthreads();
        Scan(storage).ExclusiveSum(1, out, running);
        EXPECT(out == 1000 + tile * Threads + t);
    }
}

__global__ void scan_of_functions(int* wrong) {
    using Scan = cub::BlockScan<Affine, 96, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename Scan::TempStorage storage;
    const int t = threadIdx.x;
    Affine out;
    Scan(storage).ExclusiveScan(Affine{t % 2 ? 0.5f : 2.0f, float(t)}, out, Affine{1, 0}, Compose());
    Affine expected{1, 0};
    for (int i = 0; i < t; i++) expected = Compose()(expected, Affine{i % 2 ? 0.5f : 2.0f, float(i)});
    EXPECT(out.scale == expected.scale && fabsf(out.shift - expected.shift) <= 1e-3f * (1 + fabsf(expected.shift)));
}

__global__ void warps(int* wrong) {
    using Reduce = cub::WarpReduce<int>;
    using Quarter = cub::WarpReduce<int, 8>;
    using Scan = cub::WarpScan<int>;
    __shared__ typename Reduce::TempStorage storage[2];
    __shared__ typename Quarter::TempStorage quarters[8];
    __shared__ typename Scan::TempStorage scans[2];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int sum = Reduce(storage[warp]).Sum(threadIdx.x);
    const int some = Reduce(storage[warp]).Sum(lane, 10);
    const int quarter = Quarter(quarters[threadIdx.x / 8]).Reduce(lane, Larger());
    if (lane == 0) EXPECT(sum == 32 * 32 * warp + 496 && some == 45);
    if (lane % 8 == 0) EXPECT(quarter == lane + 7);
    const int headed = Reduce(storage[warp]).HeadSegmentedSum(lane, lane % 5 == 0);
    if (lane % 5 == 0) EXPECT(headed == (lane == 30 ? 61 : 5 * lane + 10));
    const int tailed = Reduce(storage[warp]).TailSegmentedSum(1, lane % 5 == 4);
    if (lane % 5 == 0) EXPECT(tailed == (lane == 30 ? 2 : 5));
    int inclusive, exclusive, total;
    Scan(scans[warp]).InclusiveSum(lane, inclusive, total);
    Scan(scans[warp]).ExclusiveSum(lane, exclusive);
    EXPECT(inclusive == lane * (lane + 1) / 2 && exclusive == inclusive - lane && total == 496);
    Scan(scans[warp]).ExclusiveScan(31 - lane, exclusive, 7, Larger());
    EXPECT(exclusive == (lane == 0 ? 7 : 31));
    EXPECT(Scan(scans[warp]).Broadcast(lane * 3, 4) == 12);
}

/// NVIDIA's, too, meet at no barrier within one warp.
__global__ void first_warp_of_a_block(int* wrong) {
    using Reduce = cub::BlockReduce<int, 32, cub::BLOCK_REDUCE_RAKING>;
    using Scan = cub::BlockScan<int, 32>;
    __shared__ Reduce::TempStorage storage;
    __shared__ Scan::TempStorage scans;
    const int t = threadIdx.x;
    if (t >= 32) return;
    for (int round = 0; round < 2; round++) {
        const int sum = Reduce(storage).Sum(t + round);
        if (t == 0) EXPECT(sum == 496 + 32 * round);
        int out;
        Running running{round};
        Scan(scans).ExclusiveSum(t, out, running);
        EXPECT(out == round + t * (t - 1) / 2 && running.total == round + 496);
    }
}

template <cub::BlockLoadAlgorithm How, cub::BlockStoreAlgorithm Where>
__global__ void copy(float* out, const float* x, int n) {
    using Load = cub::BlockLoad<float, 64, 3, How>;
    using Store = cub::BlockStore<float, 64, 3, Where>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    float items[3];
    const int first = blockIdx.x * 192;
    Load(storage.load).Load(x + first, items, n - first, -1.0f);
    __syncthreads();
    Store(storage.store).Store(out + first, items, n - first);
}

__global__ void exchange(int* wrong) {
    using Exchange = cub::BlockExchange<int, 64, 2>;
    __shared__ typename Exchange::TempStorage storage;
    const int t = threadIdx.x;
    int items[2] = {t, 64 + t}, ranks[2] = {127 - 2 * t, 126 - 2 * t};
    Exchange(storage).StripedToBlocked(items, items);
    EXPECT(items[0] == 2 * t && items[1] == 2 * t + 1);
    __syncthreads();
    Exchange(storage).ScatterToBlocked(items, ranks);
    EXPECT(items[0] == 127 - 2 * t && items[1] == 126 - 2 * t);
}

template <class Key>
__global__ void sort(Key* keys, int* values, bool down) {
    using Sort = cub::BlockRadixSort<Key, 64, 4, int>;
    __shared__ typename Sort::TempStorage storage;
    Key own[4];
    int came[4];
    for (int i = 0; i < 4; i++) own[i] = keys[threadIdx.x * 4 + i], came[i] = threadIdx.x * 4 + i;
    if (down) Sort(storage).SortDescending(own, came);
    else Sort(storage).Sort(own, came);
    for (int i = 0; i < 4; i++) keys[threadIdx.x * 4 + i] = own[i], values[threadIdx.x * 4 + i] = came[i];
}

template <class Key>
void sorted(const char* name, std::vector<Key> keys) {
    for (bool down : {false, true}) {
        Buffer<Key> device(keys);
        Buffer<int> values(keys.size());
        sort<Key><<<1, 64>>>(device.device, values.device, down);
        const auto got = device.host();
        const auto from = values.host();
        bool right = true;
        for (size_t i = 0; i < got.size(); i++) {
            right = right && got[i] == keys[from[i]];
            if (i == 0) continue;
            right = right && !(down ? got[i - 1] < got[i] : got[i] < got[i - 1]);
            right = right && (got[i] != got[i - 1] || from[i - 1] < from[i]);
        }
        if (!right) printf("%s: not in order\n", name), failures++;
    }
}

int main() {
    Buffer<int> wrong(std::vector<int>{0});
    reductions<256, cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<2, 256>>>(wrong.device);
    reductions<96, cub::BLOCK_REDUCE_RAKING><<<2, 96>>>(wrong.device);
    reductions<32, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, 32>>>(wrong.device);
    reduction_of_a_plane<<<1, dim3(8, 4, 3)>>>(wrong.device);
    scans<128><<<2, 128>>>(wrong.device);
    scans<32><<<1, 32>>>(wrong.device);
    scans<80><<<1, 80>>>(wrong.device);
    scan_of_functions<<<1, 96>>>(wrong.device);
    warps<<<1, 64>>>(wrong.device);
    first_warp_of_a_block<<<1, 96>>>(wrong.device);
    exchange<<<1, 64>>>(wrong.device);
    failures += wrong.host()[0];

    const auto x = random_floats(500, 1);
    Buffer<float> in(x);
    auto copied = [&](const char* name, auto kernel) {
        Buffer<float> out(x.size());
        kernel<<<3, 64>>>(out.device, in.device, 500);
        validate(name, out.host(), x, 0);
    };
    copied("direct", copy<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>);
    copied("transposed", copy<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>);
    copied("warp by warp", copy<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>);
    copied("striped", copy<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>);

    std::vector<float> floats = random_floats(256, 2);
    std::vector<int> ints(256);
    std::vector<unsigned char> bytes(256);
    for (int i = 0; i < 256; i++) {
        ints[i] = static_cast<int>(floats[i] * 50);
        bytes[i] = static_cast<unsigned char>(i * 37 % 200);
    }
    floats[3] = 0.0f, floats[9] = -0.0f, floats[200] = INFINITY, floats[30] = -INFINITY;
    sorted("floats", floats);
    sorted("integers", ints);
    sorted("bytes", bytes);
    printf("%s\n", failures ? "FAILED" : "all right");
    return failures != 0;
}
