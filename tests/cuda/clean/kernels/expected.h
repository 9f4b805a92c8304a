// What the programs of this folder share: memory, and a comparison of what a kernel wrote with what it should have.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

template <class T>
T* zeros(size_t n = 1024) {
    T* data = nullptr;
    cudaMalloc(&data, n * sizeof(T));
    cudaMemset(data, 0, n * sizeof(T));
    return data;
}

/// Room for `n` elements, of which the first `written` are 0, 1, 2 and so on; the others were never written.
template <class T>
T* counting(size_t n, size_t written) {
    std::vector<T> values(written);
    for (size_t i = 0; i < written; ++i) {
        values[i] = T(i);
    }
    T* data = nullptr;
    cudaMalloc(&data, n * sizeof(T));
    cudaMemcpy(data, values.data(), written * sizeof(T), cudaMemcpyHostToDevice);
    return data;
}

inline int wrong = 0;

/// Element i of the first `n` should be expected(i).
template <class T, class Expected>
void expect(const char* kernel, const T* data, int n, Expected expected) {
    std::vector<T> values(n);
    cudaMemcpy(values.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) {
        if (double(values[i]) != double(expected(i))) {
            printf("%s: [%d] is %g and should be %g\n", kernel, i, double(values[i]), double(expected(i)));
            wrong = 1;
            return;
        }
    }
}
