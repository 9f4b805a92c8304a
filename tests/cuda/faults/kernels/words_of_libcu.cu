// Atomics, barriers, latches and semaphores of libcu++ that order too little.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <new>

#include "device.h"

__global__ void arrives_and_does_not_wait(float* out, const float* in) {
    __shared__ cuda::barrier<cuda::thread_scope_block> filled;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&filled, 64);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];  // FAULT shared_race
    (void)filled.arrive();
    out[threadIdx.x] = tile[63 - threadIdx.x];  // FAULT shared_race
}

__global__ void tile_filled_again_before_all_have_read(float* out, const float* in) {
    __shared__ cuda::barrier<cuda::thread_scope_block> filled;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&filled, 64);
    __syncthreads();
    float sum = 0;
    for (int row = 0; row < 2; ++row) {
        tile[threadIdx.x] = in[row * 64 + threadIdx.x];  // FAULT shared_race
        filled.arrive_and_wait();
        sum += tile[63 - threadIdx.x];  // FAULT shared_race
    }
    out[threadIdx.x] = sum;
}

__global__ void flag_of_the_block_for_the_device(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_block> raised(*flag);
    if (blockIdx.x == 0) {
        data[0] = 7;  // FAULT global_race
        raised.store(1, cuda::memory_order_release);
    } else if (raised.load(cuda::memory_order_acquire) == 1) {
        out[0] = data[0];  // FAULT global_race
    }
}

__global__ void ticket_taken_relaxed(int* parts, int* count, int* out) {
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> tickets(*count);
    parts[blockIdx.x] = 1;  // FAULT global_race
    if (tickets.fetch_add(1, cuda::memory_order_relaxed) == int(gridDim.x) - 1) {
        for (int i = 0; i < int(gridDim.x); ++i) {
            out[i] = parts[i];  // FAULT global_race
        }
    }
}

__global__ void latch_that_is_not_waited_for(int* out) {
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(Latch) char place[sizeof(Latch)];
    __shared__ int table[64];
    Latch& ready = *reinterpret_cast<Latch*>(place);
    if (threadIdx.x == 0) new (place) Latch(64);
    __syncthreads();
    table[threadIdx.x] = threadIdx.x;  // FAULT shared_race
    ready.count_down();
    out[threadIdx.x] = table[63 - threadIdx.x];  // FAULT shared_race
}

__global__ void two_at_a_time(int* sum) {
    using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 2>;
    __shared__ alignas(Semaphore) char place[sizeof(Semaphore)];
    Semaphore& room = *reinterpret_cast<Semaphore*>(place);
    if (threadIdx.x == 0) new (place) Semaphore(2);
    __syncthreads();
    room.acquire();
    sum[0] += 1;  // FAULT global_race
    room.release();
}

__global__ void atomic_beside_a_plain_write(int* count) {
    cuda::atomic_ref<int, cuda::thread_scope_device> counter(*count);
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        *count = 0;  // FAULT global_race
    }
    counter.fetch_add(1, cuda::memory_order_relaxed);
}

int main() {
    float* out = zeros<float>();
    arrives_and_does_not_wait<<<1, 64>>>(out, zeros<float>());
    tile_filled_again_before_all_have_read<<<1, 64>>>(out, zeros<float>());
    flag_of_the_block_for_the_device<<<2, 32>>>(zeros<int>(), zeros<int>(), zeros<int>());
    ticket_taken_relaxed<<<4, 32>>>(zeros<int>(), zeros<int>(), zeros<int>());
    latch_that_is_not_waited_for<<<1, 64>>>(zeros<int>());
    two_at_a_time<<<1, 64>>>(zeros<int>());
    atomic_beside_a_plain_write<<<2, 32>>>(zeros<int>());
    return cudaDeviceSynchronize() != cudaSuccess;
}
