// Inclusive scan of a block: two buffers that change places, one barrier a step.
#include "device.h"

__global__ void scan(int* out, const int* x) {
    __shared__ int buffers[2][256];
    int t = threadIdx.x, from = 0;
    buffers[from][t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        int sum = buffers[from][t] + (t >= step ? buffers[from][t - step] : 0);
        from = 1 - from;
        buffers[from][t] = sum;
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = buffers[from][t];
}

int main() {
    const int blocks = 3, n = 256 * blocks;
    std::vector<int> x(n), right(n);
    for (int i = 0; i < n; ++i) {
        x[i] = i * 37 % 11 - 5;
        right[i] = x[i] + (i % 256 ? right[i - 1] : 0);
    }
    Buffer<int> input(x), out(n);
    scan<<<blocks, 256>>>(out, input);
    return compare(out.host(), right, 0);
}
