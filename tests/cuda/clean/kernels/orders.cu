// Blocks, barriers, fences and atomics that order what they should, whichever block runs first.
#include "expected.h"

__global__ void every_block_counts(int* count) { atomicAdd(count, 1); }

__global__ void blocks_by_ticket(int* ticket, int* out) {
    __shared__ int mine;
    if (threadIdx.x == 0) {
        mine = atomicAdd(ticket, 1);
    }
    __syncthreads();
    out[mine * blockDim.x + threadIdx.x] = mine;
}

__global__ void sums_passed_along(int* sums, int* flags, int* out) {  // each block waits for the one before it
    if (threadIdx.x == 0) {
        int before = 0;
        if (blockIdx.x > 0) {
            while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) {
            }
            __threadfence();
            before = sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = before + blockIdx.x;
        __threadfence();
        atomicExch(&flags[blockIdx.x], 1);
        out[blockIdx.x] = before;
    }
}

__global__ void flag_with_a_fence(int* data, int* flag, int* out) {
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        data[0] = 7;
        __threadfence();
        atomicExch(flag, 1);
    }
    if (threadIdx.x == 0 && blockIdx.x == 0 && atomicAdd(flag, 0) == 1) {
        __threadfence();
        out[0] = data[0];
    }
}

__global__ void last_block_adds_up(int* parts, unsigned* count, int* out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = blockIdx.x;
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) {
            sum += parts[i];
        }
        out[0] = sum;
    }
}

__global__ void lock_of_the_grid(int* mutex, int* sum) {
    if (threadIdx.x == 0) {
        while (atomicCAS(mutex, 0, 1) != 0) {
        }
        __threadfence();
        *sum += blockIdx.x;
        __threadfence();
        atomicExch(mutex, 0);
    }
}

__global__ void shared_counter(int* out) {
    __shared__ int count;
    if (threadIdx.x == 0) {
        count = 0;
    }
    __syncthreads();
    atomicAdd(&count, 1);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = count;
}

__global__ void queue_in_shared(int* out) {
    __shared__ int queue[64], tail;
    if (threadIdx.x == 0) {
        tail = 0;
    }
    __syncthreads();
    queue[atomicAdd(&tail, 1)] = 1;
    __syncthreads();
    out[threadIdx.x] = queue[63 - threadIdx.x];
}

__global__ void neighbours_kept_apart(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] + (i + 1 < n ? x[i + 1] : 0);
    }
}

__global__ void uniform_barriers(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    for (int round = 0; round < 3; ++round) {
        if (round % 2 == 0) {
            __syncthreads();
        }
        int next = s[(t + 1) % 64];
        __syncthreads();
        s[t] = next;
        __syncthreads();
    }
    out[t] = s[t];
}

__global__ void barrier_by_block(int* out) {  // the condition is the same for all threads of a block
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    if (blockIdx.x % 2) {
        __syncthreads();
        out[blockIdx.x * 64 + t] = s[63 - t];
    } else {
        out[blockIdx.x * 64 + t] = s[t];
    }
}

__global__ void votes_of_the_block(int* out) {
    int any = __syncthreads_or(threadIdx.x == 5), all = __syncthreads_and(threadIdx.x < 64);
    out[threadIdx.x] = any + all + __syncthreads_count(threadIdx.x % 2);
}

__global__ void strided_over_the_grid(int* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] += 1;
    }
}

__global__ void two_buffers_in_turn(int* out) {
    __shared__ int s[2][64];
    int t = threadIdx.x;
    s[0][t] = t;
    for (int round = 0; round < 4; ++round) {
        __syncthreads();
        s[(round + 1) % 2][t] = s[round % 2][(t + 1) % 64];
    }
    __syncthreads();
    out[t] = s[0][t];
}

__global__ void rows_of_two_dimensions(int* out, int width, int height) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) {
        out[row * width + column] = row;
    }
}

int main() {
    int *out = zeros<int>(), *one = zeros<int>();
    every_block_counts<<<4, 64>>>(one);
    expect("every_block_counts", one, 1, [](int) { return 256; });
    blocks_by_ticket<<<4, 64>>>(zeros<int>(), out);
    expect("blocks_by_ticket", out, 256, [](int i) { return i / 64; });
    sums_passed_along<<<4, 32>>>(zeros<int>(), zeros<int>(), out);
    expect("sums_passed_along", out, 4, [](int i) { return i * (i - 1) / 2; });
    flag_with_a_fence<<<2, 32>>>(zeros<int>(), zeros<int>(), out);
    last_block_adds_up<<<8, 32>>>(zeros<int>(), zeros<unsigned>(), out);
    expect("last_block_adds_up", out, 1, [](int) { return 28; });
    int* sum = zeros<int>();
    lock_of_the_grid<<<5, 32>>>(zeros<int>(), sum);
    expect("lock_of_the_grid", sum, 1, [](int) { return 10; });
    shared_counter<<<2, 64>>>(out);
    expect("shared_counter", out, 128, [](int) { return 64; });
    queue_in_shared<<<1, 64>>>(out);
    expect("queue_in_shared", out, 64, [](int) { return 1; });
    neighbours_kept_apart<<<2, 64>>>(counting<int>(100, 100), out, 100);
    expect("neighbours_kept_apart", out, 100, [](int i) { return i < 99 ? 2 * i + 1 : 99; });
    uniform_barriers<<<1, 64>>>(out);
    expect("uniform_barriers", out, 64, [](int i) { return (i + 3) % 64; });
    barrier_by_block<<<2, 64>>>(out);
    expect("barrier_by_block", out, 128, [](int i) { return i < 64 ? i : 127 - i; });
    votes_of_the_block<<<1, 64>>>(out);
    expect("votes_of_the_block", out, 64, [](int) { return 34; });
    cudaMemset(out, 0, 4096);
    strided_over_the_grid<<<2, 64>>>(out, 500);
    expect("strided_over_the_grid", out, 500, [](int) { return 1; });
    two_buffers_in_turn<<<1, 64>>>(out);
    expect("two_buffers_in_turn", out, 64, [](int i) { return (i + 4) % 64; });
    rows_of_two_dimensions<<<dim3(2, 3), dim3(16, 8)>>>(out, 20, 20);
    expect("rows_of_two_dimensions", out, 400, [](int i) { return i / 20; });
    return wrong;
}
