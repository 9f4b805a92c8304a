// Threads and blocks write single bytes next to each other.
#include "device.h"

__global__ void flags(unsigned char* out, const int* x, int n) {
    __shared__ unsigned char seen[96];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    seen[t] = i < n && x[i] % 3 == 0;
    __syncthreads();
    if (i < n) {
        out[i] = seen[t] + 2 * seen[(t + 1) % blockDim.x];
    }
}

int main() {
    const int n = 250, threads = 96;
    std::vector<int> x(n), right(n);
    for (int i = 0; i < n; ++i) {
        x[i] = i * 11 % 17;
    }
    for (int i = 0; i < n; ++i) {
        int next = i % threads == threads - 1 ? i - threads + 1 : i + 1;
        right[i] = (x[i] % 3 == 0) + 2 * (next < n && x[next] % 3 == 0);
    }
    Buffer<int> input(x);
    Buffer<unsigned char> out(n);
    flags<<<(n + threads - 1) / threads, threads>>>(out, input, n);
    return compare(out.host(), right, 0);
}
