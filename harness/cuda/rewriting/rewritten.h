// Included before every rewritten source: what the rewriting itself calls.
#pragma once

#include <type_traits>

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

/// Stands in every `new` of device code.
struct KernelHeap {
    Site site;
};
/// Stands, with `->*`, in place of `delete` and `delete[]` in device code.
template <bool array>
struct KernelDelete {};

template <class T>
EMU_INLINE void* start_of(T* object) {
    if constexpr (std::is_polymorphic_v<T>) return const_cast<void*>(dynamic_cast<const volatile void*>(object));
    else return const_cast<void*>(static_cast<const volatile void*>(object));
}

template <class T>
EMU_INLINE void operator->*(KernelDelete<false>, T* object) {
    if (!on_device()) {
        delete object;
    } else if (object) {
        void* start = start_of(object);
        if constexpr (!std::is_trivially_destructible_v<T>) object->~T();
        kernel_free(start);
    }
}

template <class T>
EMU_INLINE void operator->*(KernelDelete<true>, T* objects) {
    if (!on_device()) {
        delete[] objects;
    } else if constexpr (std::is_trivially_destructible_v<T>) {
        kernel_free(const_cast<void*>(static_cast<const volatile void*>(objects)));
    } else if (objects) {
        // the number of objects lies before them (Itanium C++ ABI, 2.7)
        constexpr size_t before = alignof(T) > sizeof(size_t) ? alignof(T) : sizeof(size_t);
        auto* begin = const_cast<unsigned char*>(reinterpret_cast<const volatile unsigned char*>(objects));
        for (size_t i = *reinterpret_cast<size_t*>(begin - sizeof(size_t)); i > 0; --i) objects[i - 1].~T();
        kernel_free(begin - before);
    }
}

}  // namespace emu

EMU_INLINE void* operator new(size_t bytes, emu::KernelHeap at) noexcept { return emu::kernel_new(bytes, at.site); }
EMU_INLINE void* operator new[](size_t bytes, emu::KernelHeap at) noexcept { return emu::kernel_new(bytes, at.site); }
