// Vector operations behind cuBLAS's names: plain loops, run as a kernel of one thread.
#pragma once

#include <cmath>

#include "../cuda_runtime.h"
#include "library.h"

namespace emu {

/// `count` elements that lie `step` apart; with a negative step they are taken from the last one.
template <class T>
struct Vector {
    T* data;
    int step;
    int count;

    EMU_UNINSTRUMENTED T& at(int i) const {
        return data[static_cast<long long>(step) * (step < 0 ? i - (count - 1) : i)];
    }
    /// Tell the device that every element is touched.
    EMU_UNINSTRUMENTED void touch(bool write, const void* pc) const {
        for (int i = 0; i < count; ++i) access(&at(i), sizeof(T), write, pc);
    }
};

template <class Work>
EMU_UNINSTRUMENTED void run_once(const char* name, cudaStream_t stream, Work work) {
    configure({1, 1, 1}, {1, 1, 1}, 0, stream);
    launch(library_kernel(name), [=]() EMU_UNINSTRUMENTED { work(); });
}

/// y = alpha * x + y.
template <class T>
EMU_OUTLINE void add_scaled(const char* name, cudaStream_t stream, T alpha, Vector<const T> x, Vector<T> y) {
    const void* const pc = EMU_PC;
    run_once(name, stream, [=]() EMU_UNINSTRUMENTED {
        x.touch(false, pc);
        y.touch(false, pc);
        y.touch(true, pc);
        for (int i = 0; i < x.count; ++i) y.at(i) += alpha * x.at(i);
    });
}

/// x = alpha * x.
template <class T>
EMU_OUTLINE void scale(const char* name, cudaStream_t stream, T alpha, Vector<T> x) {
    const void* const pc = EMU_PC;
    run_once(name, stream, [=]() EMU_UNINSTRUMENTED {
        x.touch(false, pc);
        x.touch(true, pc);
        for (int i = 0; i < x.count; ++i) x.at(i) *= alpha;
    });
}

/// y = x; x = y as well where `both`.
template <class T>
EMU_OUTLINE void move(const char* name, cudaStream_t stream, Vector<T> x, Vector<T> y, bool both) {
    const void* const pc = EMU_PC;
    run_once(name, stream, [=]() EMU_UNINSTRUMENTED {
        x.touch(false, pc);
        if (both) y.touch(false, pc);
        if (both) x.touch(true, pc);
        y.touch(true, pc);
        for (int i = 0; i < x.count; ++i) {
            const T before = y.at(i);
            y.at(i) = x.at(i);
            if (both) x.at(i) = before;
        }
    });
}

/// *result, in host memory, = the sum of x * y.
template <class T>
EMU_OUTLINE void dot(const char* name, cudaStream_t stream, Vector<const T> x, Vector<const T> y, T* result) {
    const void* const pc = EMU_PC;
    run_once(name, stream, [=]() EMU_UNINSTRUMENTED {
        x.touch(false, pc);
        y.touch(false, pc);
        T sum = T(0);
        for (int i = 0; i < x.count; ++i) sum += x.at(i) * y.at(i);
        *result = sum;
    });
}

enum class Size { euclidean, absolute };

/// *result, in host memory, = the norm of x, or the sum of its elements' sizes.
template <class T>
EMU_OUTLINE void size(const char* name, cudaStream_t stream, Vector<const T> x, Size kind, T* result) {
    const void* const pc = EMU_PC;
    run_once(name, stream, [=]() EMU_UNINSTRUMENTED {
        x.touch(false, pc);
        T sum = T(0);
        for (int i = 0; i < x.count; ++i) sum += kind == Size::euclidean ? x.at(i) * x.at(i) : std::abs(x.at(i));
        *result = kind == Size::euclidean ? std::sqrt(sum) : sum;
    });
}

/// *result, in host memory, = the place of the first element of the largest size, or of the smallest; counted from 1.
template <class T>
EMU_OUTLINE void extreme(const char* name, cudaStream_t stream, Vector<const T> x, bool largest, int* result) {
    const void* const pc = EMU_PC;
    run_once(name, stream, [=]() EMU_UNINSTRUMENTED {
        x.touch(false, pc);
        int found = 0;
        for (int i = 1; i < x.count; ++i) {
            const T here = std::abs(x.at(i)), there = std::abs(x.at(found));
            if (largest ? here > there : here < there) found = i;
        }
        *result = found + 1;
    });
}

}  // namespace emu
