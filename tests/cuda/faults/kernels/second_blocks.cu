// Faults that no thread of the first block has, or that take two blocks.
#include "device.h"

__global__ void last_block_writes_past_the_end(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        out[i] = i;  // FAULT out_of_bounds
    }
}

__global__ void second_block_reads_before_the_start(int* out, const int* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i - 300 * (blockIdx.x == 1)];  // FAULT out_of_bounds
}

__global__ void second_block_has_no_barrier(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;  // FAULT shared_race
    if (blockIdx.x != 1) {
        __syncthreads();
    }
    out[blockIdx.x * 64 + t] = s[63 - t];  // FAULT shared_race
}

__global__ void third_block_adds_up_what_it_never_wrote(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (blockIdx.x != 2) {
        s[t] = t;
    }
    __syncthreads();
    out[blockIdx.x * 64 + t] = s[63 - t] + 1;  // FAULT uninitialized_read
}

__global__ void neighbour_in_the_next_block(int* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int next = x[i + 1];  // FAULT global_race
    __syncthreads();
    x[i] = next;  // FAULT global_race
}

__global__ void every_block_writes_the_total(int* total) {
    if (threadIdx.x == 0) {
        total[0] = blockIdx.x;  // FAULT global_race
    }
}

__global__ void rows_of_blocks_overlap(int* out) {
    out[blockIdx.x * 48 + threadIdx.x] = blockIdx.x;  // FAULT global_race
}

__global__ void stride_of_a_block_in_a_grid(int* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        out[i] += 1;  // FAULT global_race
    }
}

__global__ void flag_without_a_fence(int* data, int* flag, int* out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 7;  // FAULT global_race
        atomicExch(flag, 1);
    }
    if (blockIdx.x == 1 && threadIdx.x == 0 && atomicAdd(flag, 0) == 1) {
        out[0] = data[0];  // FAULT global_race
    }
}

__global__ void flag_for_the_block_before(int* data, int* flag, int* out) {  // shows only if block 1 is the first to run
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        data[0] = 7;  // FAULT global_race
        atomicExch(flag, 1);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && atomicAdd(flag, 0) == 1) {
        out[0] = data[0];  // FAULT global_race
    }
}

__global__ void index_from_the_block_after(int* ticket, int* out) {  // out of bounds only if block 0 is not the first
    if (threadIdx.x == 0) {
        int n = atomicAdd(ticket, 1);
        if (blockIdx.x == 0) {
            out[1023 + n] = 1;  // FAULT out_of_bounds
        }
    }
}

__global__ void blocks_share_a_counter(int* count) {
    if (threadIdx.x == 0) {
        int n = *count;  // FAULT global_race
        *count = n + 1;  // FAULT global_race
    }
}

__global__ void last_row_of_blocks(int* out, int width, int height) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row <= height) {
        out[row * width + column] = 1;  // FAULT out_of_bounds
    }
}

__global__ void two_barriers_in_the_last_block(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        __syncthreads();  // FAULT barrier_divergence
        out[i] = 1;
    }
    __syncthreads();  // FAULT barrier_divergence
}

__global__ void sums_of_blocks_that_may_not_be_there(int* parts, int* out) {
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = blockIdx.x;  // FAULT global_race
    }
    __syncthreads();
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < gridDim.x) {
        out[threadIdx.x] = parts[threadIdx.x];  // FAULT global_race
    }
}

__global__ void next_block_shifts_in_place(float* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float before = i ? x[i - 1] : 0;  // FAULT global_race
    __syncthreads();
    x[i] = before;  // FAULT global_race
}

__device__ int counters[150];

__global__ void last_block_counts_past_the_end(int) {
    counters[blockIdx.x * blockDim.x + threadIdx.x] = 1;  // FAULT out_of_bounds
}

int main() {
    last_block_writes_past_the_end<<<4, 64>>>(zeros<int>(200), 200);
    second_block_reads_before_the_start<<<3, 64>>>(zeros<int>(), zeros<int>());
    second_block_has_no_barrier<<<3, 64>>>(zeros<int>());
    third_block_adds_up_what_it_never_wrote<<<3, 64>>>(zeros<int>());
    neighbour_in_the_next_block<<<3, 64>>>(zeros<int>());
    every_block_writes_the_total<<<3, 64>>>(zeros<int>());
    rows_of_blocks_overlap<<<3, 64>>>(zeros<int>());
    stride_of_a_block_in_a_grid<<<3, 64>>>(zeros<int>(), 500);
    flag_without_a_fence<<<2, 64>>>(zeros<int>(), zeros<int>(), zeros<int>());
    flag_for_the_block_before<<<2, 64>>>(zeros<int>(), zeros<int>(), zeros<int>());
    index_from_the_block_after<<<2, 64>>>(zeros<int>(), zeros<int>());
    blocks_share_a_counter<<<3, 64>>>(zeros<int>());
    last_row_of_blocks<<<dim3(2, 3), dim3(16, 8)>>>(zeros<int>(20 * 20), 20, 20);
    two_barriers_in_the_last_block<<<3, 64>>>(zeros<int>(), 150);
    sums_of_blocks_that_may_not_be_there<<<4, 64>>>(zeros<int>(), zeros<int>());
    next_block_shifts_in_place<<<3, 64>>>(zeros<float>());
    last_block_counts_past_the_end<<<3, 64>>>(0);
    cudaDeviceSynchronize();
}
