// What the programs of this folder share: memory that is written, and memory that is not.
#pragma once
#include <cuda_runtime.h>

/// Room for `n` elements, all zero.
template <class T>
T* zeros(size_t n = 1024) {
    T* data = nullptr;
    cudaMalloc(&data, n * sizeof(T));
    cudaMemset(data, 0, n * sizeof(T));
    return data;
}

/// Room for `n` elements, of which the first `written` are zero and the others were never written.
template <class T>
T* partly(size_t n, size_t written) {
    T* data = nullptr;
    cudaMalloc(&data, n * sizeof(T));
    cudaMemset(data, 0, written * sizeof(T));
    return data;
}
