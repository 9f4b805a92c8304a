// Bins of a block by atomics in shared memory, of the grid by atomics in global memory; bytes read in a grid stride.
#include "device.h"

__global__ void histogram(unsigned* bins, const unsigned char* x, int n) {
    __shared__ unsigned local[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        local[b] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[x[i]], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        if (local[b] != 0) {
            atomicAdd(&bins[b], local[b]);
        }
    }
}

int main() {
    const int n = 5000;
    std::vector<unsigned char> x(n);
    std::vector<unsigned> right(256);
    for (int i = 0; i < n; ++i) {
        ++right[x[i] = (unsigned char)(i * i / 7)];
    }
    Buffer<unsigned char> input(x);
    Buffer<unsigned> bins(256);
    histogram<<<4, 192>>>(bins.zero(), input, n);
    return compare(bins.host(), right, 0);
}
