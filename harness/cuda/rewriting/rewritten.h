// Included before every rewritten source: what the rewriting itself calls.
#pragma once

#include "cuda_runtime.h"
#include "emulator.h"

#define EMU_TEXT(name) EMU_TEXT_OF(name)
#define EMU_TEXT_OF(name) #name

#if defined(EMU_INSTRUMENTED)
extern "C" {
void* __tsan_memcpy(void* to, const void* from, size_t bytes);
void* __tsan_memmove(void* to, const void* from, size_t bytes);
void* __tsan_memset(void* to, int value, size_t bytes);
}
#if defined(__clang__)
// a struct assignment is a memcpy here, which older versions do not tell from any other; g++ announces its bytes
__asm__(".set memcpy, __tsan_memcpy\n.set memmove, __tsan_memmove\n.set memset, __tsan_memset\n");
#endif
// both compilers make one plain access of so few bytes
#define EMU_SEEN(name, bytes, ...)                                                           \
    (__builtin_constant_p(bytes) && (bytes) <= 8 && ((bytes) & ((bytes) - 1)) == 0           \
         ? __builtin_##name(__VA_ARGS__, bytes)                                              \
         : __tsan_##name(__VA_ARGS__, bytes))
#else
#define EMU_SEEN(name, bytes, ...) __builtin_##name(__VA_ARGS__, bytes)
#endif

namespace emu {

/// `<<<grid, block, shared, stream>>>`, with the conversions that CUDA's launches allow.
inline void configured(dim3 grid, dim3 block, size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
    configure({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_shared, static_cast<void*>(stream));
}

// memory functions whose accesses are told: a few bytes are left to the compiler, which makes plain accesses of them
__attribute__((always_inline)) inline void* seen_memcpy(void* to, const void* from, size_t bytes) {
    return EMU_SEEN(memcpy, bytes, to, from);
}
__attribute__((always_inline)) inline void* seen_memmove(void* to, const void* from, size_t bytes) {
    return EMU_SEEN(memmove, bytes, to, from);
}
__attribute__((always_inline)) inline void* seen_memset(void* to, int value, size_t bytes) {
    return EMU_SEEN(memset, bytes, to, value);
}

/// Stands in every `new` of device code, which nothing here serves.
struct KernelHeap {
    explicit KernelHeap(Site site) {
        if (on_device()) unsupported("new in device code", site);
    }
};

}  // namespace emu

inline void* operator new(size_t bytes, emu::KernelHeap) { return ::operator new(bytes); }
inline void* operator new[](size_t bytes, emu::KernelHeap) { return ::operator new[](bytes); }
