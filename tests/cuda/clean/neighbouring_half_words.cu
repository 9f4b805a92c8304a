// Every thread writes one half: neighbours share words, never bytes. In shared and in global memory.
#include <cuda_fp16.h>

#include "device.h"

__global__ void halve(__half* out, const float* x, int n) {
    __shared__ __half row[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) {
        row[t] = __float2half(x[i] * 0.5f);
    }
    __syncthreads();
    int other = t ^ 1;
    if (i < n && blockIdx.x * blockDim.x + other < n) {
        out[i] = __hadd(row[other], __float2half(1.0f));
    }
}

int main() {
    const int n = 300;
    std::vector<float> x(n), right(n);
    for (int i = 0; i < n; ++i) {
        x[i] = float(i);
        right[i ^ 1] = i * 0.5f + 1.0f;
    }
    Buffer<float> input(x);
    Buffer<__half> out(n);
    halve<<<3, 128>>>(out, input, n);
    std::vector<float> got;
    for (__half value : out.host()) {
        got.push_back(__half2float(value));
    }
    return compare(got, right, 0.0);
}
