// What the programs of this folder share: buffers, inputs, and a comparison that NaN does not pass.
#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void must(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(error));
        exit(2);
    }
}

/// Device memory for the length of a scope.
template <class T>
class Buffer {
public:
    explicit Buffer(size_t n) : n_(n) { must(cudaMalloc(&data_, n * sizeof(T)), "cudaMalloc"); }
    explicit Buffer(const std::vector<T>& host) : Buffer(host.size()) {
        must(cudaMemcpy(data_, host.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(data_); }

    operator T*() { return data_; }
    Buffer& zero() {
        must(cudaMemset(data_, 0, n_ * sizeof(T)), "cudaMemset");
        return *this;
    }
    std::vector<T> host() const {
        std::vector<T> copy(n_);
        must(cudaMemcpy(copy.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "copy to the host");
        return copy;
    }

private:
    T* data_ = nullptr;
    size_t n_;
};

/// `n` values in [-1, 1) that look random and are always the same.
inline std::vector<float> noise(size_t n, unsigned seed = 1) {
    std::vector<float> values(n);
    unsigned state = seed * 2654435761u + 12345u;
    for (float& value : values) {
        state = state * 1664525u + 1013904223u;
        value = float(state >> 8) / float(1 << 23) - 1.0f;
    }
    return values;
}

/// Exit status: 0 when every value is within `tolerance` of the right one.
template <class T, class U>
int compare(const std::vector<T>& got, const std::vector<U>& right, double tolerance) {
    must(cudaGetLastError(), "launch");
    for (size_t i = 0; i < right.size(); ++i) {
        double difference = std::fabs(double(got[i]) - double(right[i]));
        if (!(difference <= tolerance)) {
            printf("[%zu] is %g and should be %g\n", i, double(got[i]), double(right[i]));
            return 1;
        }
    }
    return 0;
}
