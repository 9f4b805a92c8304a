// A convolution whose weights lie in constant memory; blocks stage their part of the row with its borders.
#include "device.h"

constexpr int RADIUS = 3, THREADS = 64;
__constant__ float weights[2 * RADIUS + 1];

__global__ void convolve(float* out, const float* x, int n) {
    __shared__ float staged[THREADS + 2 * RADIUS];
    int first = blockIdx.x * THREADS - RADIUS;
    for (int s = threadIdx.x; s < THREADS + 2 * RADIUS; s += THREADS) {
        int i = first + s;
        staged[s] = i >= 0 && i < n ? x[i] : 0.0f;
    }
    __syncthreads();
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int w = 0; w <= 2 * RADIUS; ++w) {
            sum += weights[w] * staged[threadIdx.x + w];
        }
        out[i] = sum;
    }
}

int main() {
    const int n = 150;
    std::vector<float> x = noise(n), w = noise(2 * RADIUS + 1, 5);
    std::vector<double> right(n);
    for (int i = 0; i < n; ++i) {
        for (int j = -RADIUS; j <= RADIUS; ++j) {
            right[i] += i + j >= 0 && i + j < n ? double(w[j + RADIUS]) * x[i + j] : 0.0;
        }
    }
    must(cudaMemcpyToSymbol(weights, w.data(), w.size() * sizeof(float)), "cudaMemcpyToSymbol");
    Buffer<float> input(x), out(n);
    convolve<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, input, n);
    return compare(out.host(), right, 1e-5);
}
