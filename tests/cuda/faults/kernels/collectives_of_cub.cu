// CUB's collectives: storage that is used again too soon, and calls that not every thread makes.
#include <cub/cub.cuh>

#include "device.h"

using Reduce = cub::BlockReduce<int, 128>;
using Scan = cub::BlockScan<int, 128>;

__global__ void storage_after_a_barrier(int* out) {
    __shared__ Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(threadIdx.x);
    __syncthreads();
    int count = Reduce(storage).Sum(1);
    if (threadIdx.x == 0) {
        out[0] = sum + count;
    }
}

__global__ void storage_used_again_at_once(int* out) {
    __shared__ Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(threadIdx.x);  // FAULT shared_race
    int count = Reduce(storage).Sum(1);          // FAULT shared_race
    if (threadIdx.x == 0) {
        out[0] = sum + count;
    }
}

__global__ void scans_in_a_loop(int* out) {
    __shared__ Scan::TempStorage storage;
    int value = threadIdx.x;
    for (int round = 0; round < 3; ++round) {
        Scan(storage).InclusiveSum(value, value);  // FAULT shared_race
    }
    out[threadIdx.x] = value;
}

__global__ void one_union_for_two_collectives(int* out) {
    __shared__ union {
        Reduce::TempStorage reduce;
        Scan::TempStorage scan;
    } storage;
    int before;
    Scan(storage.scan).ExclusiveSum(1, before);            // FAULT shared_race
    int sum = Reduce(storage.reduce).Sum(before);          // FAULT shared_race
    if (threadIdx.x == 0) {
        out[0] = sum;
    }
}

__global__ void half_of_the_block_sums(int* out) {
    __shared__ Reduce::TempStorage storage;
    int sum = 0;
    if (threadIdx.x < 64) {
        sum = Reduce(storage).Sum(1);  // FAULT barrier_divergence
    } else {
        __syncthreads();               // FAULT barrier_divergence
    }
    if (threadIdx.x == 0) {
        out[0] = sum;
    }
}

__global__ void block_of_another_size(int* out) {
    __shared__ Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(1);  // FAULT trap
    if (threadIdx.x == 0) {
        out[0] = sum;
    }
}

__global__ void sum_that_only_one_has(int* out) {
    __shared__ Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(threadIdx.x == 5);
    out[sum * 4 + int(threadIdx.x)] = 1;  // FAULT out_of_bounds
}

__global__ void tile_past_the_end(int* out, const int* x) {
    using Load = cub::BlockLoad<int, 128, 4>;
    int items[4];
    Load().Load(x + blockIdx.x * 512, items);  // FAULT out_of_bounds
    out[threadIdx.x] = items[0] + items[3];
}

__global__ void lanes_that_left(int* out) {
    __shared__ cub::WarpReduce<int>::TempStorage storage;
    if (threadIdx.x >= 20) {
        return;
    }
    int sum = cub::WarpReduce<int>(storage).Sum(1);  // FAULT inactive_lane
    if (threadIdx.x == 0) {
        out[0] = sum;
    }
}

int main() {
    storage_after_a_barrier<<<1, 128>>>(zeros<int>());
    storage_used_again_at_once<<<1, 128>>>(zeros<int>());
    scans_in_a_loop<<<1, 128>>>(zeros<int>());
    one_union_for_two_collectives<<<1, 128>>>(zeros<int>());
    half_of_the_block_sums<<<1, 128>>>(zeros<int>());
    sum_that_only_one_has<<<1, 128>>>(zeros<int>());
    tile_past_the_end<<<2, 128>>>(zeros<int>(), zeros<int>(600));
    lanes_that_left<<<1, 32>>>(zeros<int>());
    block_of_another_size<<<1, 64>>>(zeros<int>());  // the last: no launch follows a trap
    cudaDeviceSynchronize();
}
