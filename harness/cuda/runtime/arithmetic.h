// The arithmetic of kernels, counted by what `counted.h` makes of their operators.
#pragma once

#include <cstdint>

namespace emu {

/// Types that arithmetic is told apart by; those of 16 bits also in pairs. Tensor is that of matrices of a warp.
enum class Number : uint8_t { Half, Bfloat16, Float, Double, Tensor };
/// Subtractions are additions. A function is any of mathematics, whatever it takes.
enum class Operation : uint8_t { Add, Multiply, Fused, Divide, Function };
constexpr unsigned kNumbers = 5, kOperations = 5;

struct Arithmetic {
    uint64_t counts[kNumbers][kOperations] = {};

    Arithmetic operator-(const Arithmetic& before) const {
        Arithmetic since = *this;
        for (unsigned i = 0; i < kNumbers; ++i) {
            for (unsigned j = 0; j < kOperations; ++j) since.counts[i][j] -= before.counts[i][j];
        }
        return since;
    }
};

/// Everything so far, also of host code that shares a function with a kernel. The program's own: one that does not count
/// has none.
extern "C" Arithmetic emu_arithmetic __attribute__((weak, visibility("hidden")));
inline bool arithmetic_is_counted() { return &emu_arithmetic != nullptr; }
inline Arithmetic arithmetic_so_far() { return arithmetic_is_counted() ? emu_arithmetic : Arithmetic{}; }

}  // namespace emu
