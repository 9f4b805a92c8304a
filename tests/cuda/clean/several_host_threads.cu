// Four host threads, each with a stream and buffers of its own, launch and copy side by side; a fifth one only counts,
// in memory that the device could read.
#include <algorithm>
#include <atomic>
#include <thread>

#include "device.h"

__global__ void rounds(float* out, const float* x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    for (int start = 0; start < n; start += 64) {
        s[t] = x[start + t];
        __syncthreads();
        out[start + t] = s[63 - t] + 1;
        __syncthreads();
    }
}

int main() {
    const int n = 1024, threads = 4;
    std::atomic<int> wrong{0};
    std::vector<std::thread> workers;
    for (int k = 0; k < threads; ++k) {
        workers.emplace_back([&wrong, k] {
            std::vector<float> x = noise(n, k + 1), right(n);
            for (int i = 0; i < n; ++i) {
                right[i] = x[i / 64 * 64 + 63 - i % 64] + 1;
            }
            cudaStream_t stream;
            must(cudaStreamCreate(&stream), "stream");
            for (int round = 0; round < 5; ++round) {
                Buffer<float> input(x), out(n);
                rounds<<<1, 64, 0, stream>>>(out, input, n);
                must(cudaStreamSynchronize(stream), "synchronize");
                wrong += compare(out.host(), right, 0);
            }
            must(cudaStreamDestroy(stream), "destroy");
        });
    }
    int* counts;
    must(cudaMallocHost(&counts, 1000 * sizeof(int)), "pinned memory");
    std::fill(counts, counts + 1000, 0);
    std::thread counter([counts] {
        for (int round = 0; round < 2000; ++round) {
            for (int i = 0; i < 1000; ++i) {
                ++counts[i];
            }
        }
    });
    for (std::thread& worker : workers) {
        worker.join();
    }
    counter.join();
    const bool lost = counts[999] != 2000;
    must(cudaFreeHost(counts), "free");
    return wrong.load() + lost;
}
