// What these programs share: checked calls, rounded-up division, reproducible numbers, and a comparison that NaN fails.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void cuda_check(cudaError_t error, const char* file, int line) {
    if (error != cudaSuccess) {
        printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
#define cudaCheck(call) (cuda_check((call), __FILE__, __LINE__))

template <class T>
__host__ __device__ T ceil_div(T dividend, T divisor) {
    return (dividend + divisor - 1) / divisor;
}

inline std::vector<float> random_floats(size_t n, unsigned seed, float scale = 1.0f) {
    std::vector<float> values(n);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = scale * (static_cast<float>(seed >> 8) / 8388608.0f - 1.0f);
    }
    return values;
}

template <class T>
struct Buffer {
    T* device = nullptr;
    size_t n;
    explicit Buffer(size_t n) : n(n) { cudaCheck(cudaMalloc(&device, n * sizeof(T))); }
    explicit Buffer(const std::vector<T>& host) : Buffer(host.size()) {
        cudaCheck(cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(device); }
    std::vector<T> host() const {
        std::vector<T> copy(n);
        cudaCheck(cudaMemcpy(copy.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
        return copy;
    }
};

inline int failures = 0;
template <class T>
void validate(const char* name, const std::vector<T>& got, const std::vector<float>& expected, float tolerance) {
    cudaCheck(cudaDeviceSynchronize());
    for (size_t i = 0; i < expected.size(); i++) {
        if (!(fabsf((float)got[i] - expected[i]) <= tolerance * (1.0f + fabsf(expected[i])))) {
            printf("%s: mismatch at %zu: %f instead of %f\n", name, i, (double)(float)got[i], (double)expected[i]);
            failures++;
            return;
        }
    }
}
