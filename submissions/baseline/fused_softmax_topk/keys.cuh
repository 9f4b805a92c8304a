// A candidate as one integer: the logit's rank in the upper half, the column counted from the right in the lower.
// Larger logits have larger keys, and of equal logits the one in the first column has.
#pragma once

#include <stdint.h>

using Key = unsigned long long;

/// Below the key of every logit, -inf included.
constexpr Key NO_KEY = 0;

/// An integer that orders as the floats do: negative ones have all bits turned, others the sign bit.
__device__ inline uint32_t rank_of(float logit) {
    const uint32_t bits = __float_as_uint(logit);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/// The key of a logit at a column.
__device__ inline Key key_of(float logit, int column) {
    return static_cast<Key>(rank_of(logit)) << 32 | ~static_cast<uint32_t>(column);
}

/// The logit that a key was made of.
__device__ inline float logit_of(Key key) {
    const uint32_t rank = static_cast<uint32_t>(key >> 32);
    return __uint_as_float(rank >> 31 ? rank & 0x7fffffffu : ~rank);
}

/// The column that a key was made of.
__device__ inline int column_of(Key key) {
    return static_cast<int>(~static_cast<uint32_t>(key));
}
