// Asynchronous copies to shared memory, done at once: a device may do them at any time before they are waited for.
#pragma once

#include "cuda_runtime.h"

/// `size` (4, 8 or 16) bytes, the last `zeros` of which are not read but filled with 0.
EMU_INLINE void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0) {
    if (zeros != 0) {
        for (size_t i = 0; i < size; ++i) {
            static_cast<char*>(to)[i] = i + zeros < size ? static_cast<const char*>(from)[i] : char(0);
        }
    } else if (size == 16) {
        *static_cast<int4*>(to) = *static_cast<const int4*>(from);
    } else if (size == 8) {
        *static_cast<int2*>(to) = *static_cast<const int2*>(from);
    } else {
        *static_cast<int*>(to) = *static_cast<const int*>(from);
    }
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(size_t) {}
