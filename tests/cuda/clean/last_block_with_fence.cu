// Every block leaves its sum and counts itself in behind a fence; the last one adds the sums up.
#include "device.h"

__device__ unsigned done = 0;

__device__ float block_sum(float value, float* slots) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    if (lane == 0) {
        slots[warp] = value;
    }
    __syncthreads();
    value = 0.0f;
    for (int w = 0; w < int(blockDim.x / 32); ++w) {
        value += slots[w];
    }
    __syncthreads();
    return value;
}

__global__ void total(float* out, volatile float* partial, const float* x, int n) {
    __shared__ float slots[32];
    __shared__ bool last;
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        mine += x[i];
    }
    mine = block_sum(mine, slots);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        mine = 0.0f;
        for (int b = threadIdx.x; b < int(gridDim.x); b += blockDim.x) {
            mine += partial[b];
        }
        mine = block_sum(mine, slots);
        if (threadIdx.x == 0) {
            *out = mine;
        }
    }
}

int main() {
    const int n = 3000, blocks = 9;
    std::vector<float> x = noise(n);
    std::vector<double> right(1);
    for (float value : x) {
        right[0] += value;
    }
    Buffer<float> input(x), partial(blocks), out(1);
    for (int round = 0; round < 2; ++round) {  // the counter wraps: the kernel can be launched again
        total<<<blocks, 128>>>(out, partial, input, n);
    }
    return compare(out.host(), right, 1e-3);
}
