// Matrix products behind cuBLAS's names: plain loops, run as a kernel of one thread per product.
#pragma once

#include <cmath>

#include "../cuda_bf16.h"
#include "../cuda_runtime.h"
#include "library.h"

namespace emu {

/// A column-major matrix with `leading` elements between columns, read transposed or not.
template <class T>
struct Matrix {
    T* data;
    int leading;
    bool transposed;

    EMU_UNINSTRUMENTED T& at(int row, int column) const {
        const int down = transposed ? column : row, across = transposed ? row : column;
        return data[static_cast<size_t>(across) * static_cast<size_t>(leading) + static_cast<size_t>(down)];
    }
    /// Tell the device that rows x columns elements are touched.
    EMU_UNINSTRUMENTED void touch(int rows, int columns, bool write, const void* pc) const {
        const int down = transposed ? columns : rows, across = transposed ? rows : columns;
        for (int column = 0; column < across; ++column) {
            const T* start = data + static_cast<size_t>(column) * static_cast<size_t>(leading);
            for (int row = 0; row < down; ++row) access(start + row, sizeof(T), write, pc);
        }
    }
};

struct Extents {
    int m, n, k;
};

enum class Activation { none, relu, gelu };

/// What is done to a product before it is rounded: add a bias of one element for each row, then activate.
struct Epilogue {
    const void* bias = nullptr;
    Activation activation = Activation::none;
};

template <class Sum>
EMU_UNINSTRUMENTED Sum activated(Sum x, Activation activation) {
    const Sum root = Sum(0.7978845608028654);  // of 2 / pi: the approximation by tanh
    switch (activation) {
        case Activation::relu: return x > Sum(0) ? x : Sum(0);
        case Activation::gelu: return Sum(0.5) * x * (Sum(1) + std::tanh(root * (x + Sum(0.044715) * x * x * x)));
        default: return x;
    }
}

/// c = epilogue(alpha * a * b + beta * c), summed in Sum; c is not read when beta is 0.
template <class T, class C, class Sum>
EMU_UNINSTRUMENTED void multiply(Extents e, Sum alpha, Matrix<const T> a, Matrix<const T> b, Sum beta, Matrix<C> c,
                                 Epilogue epilogue, const void* pc) {
    a.touch(e.m, e.k, false, pc);
    b.touch(e.k, e.n, false, pc);
    const Matrix<const C> bias{static_cast<const C*>(epilogue.bias), e.m, false};
    if (bias.data) bias.touch(e.m, 1, false, pc);
    if (beta != Sum(0)) c.touch(e.m, e.n, false, pc);
    c.touch(e.m, e.n, true, pc);
    for (int column = 0; column < e.n; ++column) {
        for (int row = 0; row < e.m; ++row) {
            Sum sum = Sum(0);
            for (int i = 0; i < e.k; ++i) sum += static_cast<Sum>(a.at(row, i)) * static_cast<Sum>(b.at(i, column));
            C& result = c.at(row, column);
            const Sum before = beta == Sum(0) ? Sum(0) : beta * static_cast<Sum>(result);
            const Sum shift = bias.data ? static_cast<Sum>(bias.at(row, 0)) : Sum(0);
            result = static_cast<C>(activated(alpha * sum + before + shift, epilogue.activation));
        }
    }
}

/// `batch` products, the matrices of each at `stride` elements after the last one's.
template <class T, class C, class Sum>
EMU_UNINSTRUMENTED void multiply_batch(const char* name, cudaStream_t stream, Extents e, Sum alpha, Matrix<const T> a,
                                       long long stride_a, Matrix<const T> b, long long stride_b, Sum beta,
                                       Matrix<C> c, long long stride_c, int batch, Epilogue epilogue,
                                       const void* pc) {
    if (batch == 0 || e.m == 0 || e.n == 0) return;
    configure({static_cast<unsigned>(batch), 1, 1}, {1, 1, 1}, 0, stream);
    launch(library_kernel(name), [=]() EMU_UNINSTRUMENTED {
        const long long i = emu_block_x();
        multiply<T, C, Sum>(e, alpha, {a.data + i * stride_a, a.leading, a.transposed},
                            {b.data + i * stride_b, b.leading, b.transposed}, beta,
                            {c.data + i * stride_c, c.leading, false}, epilogue, pc);
    });
}

}  // namespace emu
