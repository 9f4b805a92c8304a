// Tree reduction in shared memory, one barrier after every step.
#include "device.h"

__global__ void block_sums(float* sums, const float* x, int n) {
    extern __shared__ float partial[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    partial[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) {
            partial[t] += partial[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        sums[blockIdx.x] = partial[0];
    }
}

int main() {
    const int n = 1000, threads = 256, blocks = (n + threads - 1) / threads;
    std::vector<float> x = noise(n);
    std::vector<double> right(blocks);
    for (int i = 0; i < n; ++i) {
        right[i / threads] += x[i];
    }
    Buffer<float> input(x), sums(blocks);
    block_sums<<<blocks, threads, threads * sizeof(float)>>>(sums, input, n);
    return compare(sums.host(), right, 1e-4);
}
