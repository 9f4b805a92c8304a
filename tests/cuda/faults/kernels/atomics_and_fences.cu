// Atomics that order too little, and plain accesses beside them.
#include "device.h"

__global__ void fence_after_the_ticket(float* parts, unsigned* count, float* out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 1.0f;  // FAULT global_race
        last = atomicAdd(count, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) {
        out[threadIdx.x] = parts[threadIdx.x];  // FAULT global_race
    }
}

__global__ void fence_for_the_block_only(int* data, int* flag, int* out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = 7;  // FAULT global_race
        __threadfence_block();
        atomicExch(flag, 1);
    }
    if (threadIdx.x == 0 && blockIdx.x == 1 && atomicAdd(flag, 0) == 1) {
        out[0] = data[0];  // FAULT global_race
    }
}

__global__ void lock_without_fences(int* mutex, int* sum) {
    if (threadIdx.x == 0) {
        while (atomicCAS(mutex, 0, 1) != 0) {
        }
        *sum += 1;  // FAULT global_race
        atomicExch(mutex, 0);
    }
}

__global__ void counter_set_back_by_hand(int* count, int* out) {
    if (threadIdx.x == 0) {
        out[blockIdx.x] = atomicAdd(count, 1);
        if (blockIdx.x == 1) {
            *count = 0;  // FAULT global_race
        }
    }
}

__global__ void maximum_read_too_early(int* largest, int* out) {
    atomicMax(largest, int(threadIdx.x));
    out[threadIdx.x] = *largest;  // FAULT global_race
}

__global__ void unlocked_by_a_plain_store(int* mutex, int* sum) {
    if (threadIdx.x == 0) {
        while (atomicCAS(mutex, 0, 1) != 0) {
        }
        __threadfence();
        *sum += 1;
        __threadfence();
        *mutex = 0;  // FAULT global_race
    }
}

__global__ void counter_cleared_by_one(int* out) {
    __shared__ int count;
    if (threadIdx.x == 0) {
        count = 0;  // FAULT shared_race
    }
    atomicAdd(&count, 1);  // FAULT shared_race
    __syncthreads();
    out[threadIdx.x] = count;
}

__global__ void counted_and_read_at_once(int* out) {
    __shared__ int count;
    if (threadIdx.x == 0) {
        count = 0;
    }
    __syncthreads();
    atomicAdd(&count, 1);
    out[threadIdx.x] = count;  // FAULT shared_race
}

__global__ void volatile_flag_without_a_fence(int* data, volatile int* flag, int* out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = 7;  // FAULT global_race
        *flag = 1;
    }
    if (threadIdx.x == 0 && blockIdx.x == 1 && *flag == 1) {
        out[0] = data[0];  // FAULT global_race
    }
}

__global__ void only_the_reader_fences(int* data, int* flag, int* out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = 7;  // FAULT global_race
        atomicExch(flag, 1);
    }
    if (threadIdx.x == 0 && blockIdx.x == 1 && atomicAdd(flag, 0) == 1) {
        __threadfence();
        out[0] = data[0];  // FAULT global_race
    }
}

__global__ void minimum_by_comparison(int* least, const int* x) {
    if (x[threadIdx.x] <= *least) {  // FAULT global_race
        *least = x[threadIdx.x] - int(threadIdx.x);  // FAULT global_race
    }
}

__global__ void counter_that_nobody_cleared(int* count) {
    atomicAdd(count, 1);  // FAULT uninitialized_read
}

__global__ void bin_past_the_end(int* bins) {
    atomicAdd(&bins[threadIdx.x], 1);  // FAULT out_of_bounds
}

__global__ void flag_before_the_data(int* data, int* flag, int* out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        __threadfence();
        atomicExch(flag, 1);
        data[0] = 7;  // FAULT global_race
    }
    if (threadIdx.x == 0 && blockIdx.x == 1 && atomicAdd(flag, 0) == 1) {
        out[0] = data[0];  // FAULT global_race
    }
}

__global__ void sum_of_the_warps(float* sum) {
    if (threadIdx.x % 32 == 0) {
        *sum += 1.0f;  // FAULT global_race
    }
}

__global__ void queue_read_while_it_fills(int* out) {
    __shared__ int queue[64], tail;
    if (threadIdx.x == 0) {
        tail = 0;
    }
    __syncthreads();
    queue[atomicAdd(&tail, 1)] = threadIdx.x;  // FAULT shared_race
    out[threadIdx.x] = queue[63 - threadIdx.x];  // FAULT shared_race
}

__global__ void ticket_that_covers_one_thread(int* parts, int* count, int* out) {  // the others' writes are not fenced
    __shared__ bool last;
    parts[blockIdx.x * 64 + threadIdx.x] = 1;  // FAULT global_race
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(count, 1) == int(gridDim.x) - 1;
    }
    __syncthreads();
    if (last) {
        out[threadIdx.x] = parts[threadIdx.x];  // FAULT global_race
    }
}

int main() {
    fence_after_the_ticket<<<4, 64>>>(zeros<float>(), zeros<unsigned>(), zeros<float>());
    fence_for_the_block_only<<<2, 64>>>(zeros<int>(), zeros<int>(), zeros<int>());
    lock_without_fences<<<3, 64>>>(zeros<int>(), zeros<int>());
    counter_set_back_by_hand<<<3, 64>>>(zeros<int>(), zeros<int>());
    maximum_read_too_early<<<1, 64>>>(zeros<int>(), zeros<int>());
    unlocked_by_a_plain_store<<<3, 64>>>(zeros<int>(), zeros<int>());
    counter_cleared_by_one<<<1, 64>>>(zeros<int>());
    counted_and_read_at_once<<<1, 64>>>(zeros<int>());
    volatile_flag_without_a_fence<<<2, 64>>>(zeros<int>(), zeros<int>(), zeros<int>());
    only_the_reader_fences<<<2, 64>>>(zeros<int>(), zeros<int>(), zeros<int>());
    minimum_by_comparison<<<1, 64>>>(partly<int>(1, 1) , zeros<int>());
    counter_that_nobody_cleared<<<1, 64>>>(partly<int>(64, 0));
    bin_past_the_end<<<1, 64>>>(zeros<int>(60));
    flag_before_the_data<<<2, 64>>>(zeros<int>(), zeros<int>(), zeros<int>());
    sum_of_the_warps<<<1, 128>>>(zeros<float>());
    queue_read_while_it_fills<<<1, 64>>>(zeros<int>());
    ticket_that_covers_one_thread<<<4, 64>>>(zeros<int>(), zeros<int>(), zeros<int>());
    cudaDeviceSynchronize();
}
