// CUDA's vector types and dim3.
//
// A vector of at most 16 bytes is read and written in one access, as on the device, so its copies must not be split
// into scalars before they are instrumented: `whole` is what assignments copy.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "emulator.h"

// a shim that must leave no hook of its own: what it touches is the author's access
#define EMU_INLINE inline __attribute__((always_inline))

#if defined(__clang__)
// clang splits implicit copies always, so these types copy themselves and are no aggregates
#define EMU_KEPT_WHOLE
#define EMU_COPIED_WHOLE(name)                   \
    name() = default;                            \
    EMU_INLINE name(const name& from) : whole(from.whole) {} \
    EMU_INLINE name& operator=(const name& from) { \
        whole = from.whole;                      \
        return *this;                            \
    }
#define EMU_LISTED2(name, T) \
    EMU_INLINE constexpr name(T x, T y = 0) : x(x), y(y) {}
#define EMU_LISTED4(name, T) \
    constexpr name(T x, T y = 0, T z = 0, T w = 0) : x(x), y(y), z(z), w(w) {}
#else
// g++ never splits a type with a volatile part; a template is no special member, so copies stay trivial
#if defined(__SANITIZE_THREAD__)
#define EMU_KEPT_WHOLE volatile char unsplit;
#else
#define EMU_KEPT_WHOLE
#endif
#define EMU_COPIED_WHOLE(name)                                                                \
    name& operator=(const name&) = default;                                                   \
    template <class From, class = std::enable_if_t<std::is_same_v<std::decay_t<From>, name>>> \
    EMU_INLINE name& operator=(From&& from) {                                                 \
        whole = from.whole;                                                                   \
        return *this;                                                                         \
    }
// `v = {1, 2}` would be stored part by part; no loop, whose reads of the list would be told to the device
#define EMU_PART(T, i) (parts.size() > i ? parts.begin()[i] : static_cast<T>(0))
#define EMU_LISTED(name, T, ...)                                 \
    EMU_INLINE name& operator=(std::initializer_list<T> parts) { \
        whole = Whole{__VA_ARGS__};                              \
        return *this;                                            \
    }
#define EMU_LISTED2(name, T) EMU_LISTED(name, T, EMU_PART(T, 0), EMU_PART(T, 1))
#define EMU_LISTED4(name, T) EMU_LISTED(name, T, EMU_PART(T, 0), EMU_PART(T, 1), EMU_PART(T, 2), EMU_PART(T, 3))
#endif

#define EMU_VECTOR1(name, T) \
    struct name {            \
        T x;                 \
    };
#define EMU_VECTOR2(name, T)                                      \
    struct alignas(2 * sizeof(T)) name {                          \
        typedef T Whole __attribute__((vector_size(2 * sizeof(T)))); \
        union {                                                   \
            struct {                                              \
                T x, y;                                           \
            };                                                    \
            Whole whole;                                          \
            EMU_KEPT_WHOLE                                        \
        };                                                        \
        EMU_LISTED2(name, T)                                      \
        EMU_COPIED_WHOLE(name)                                    \
    };
#define EMU_VECTOR3(name, T) \
    struct name {            \
        T x, y, z;           \
    };
#define EMU_VECTOR4(name, T)                                      \
    struct alignas(4 * sizeof(T)) name {                          \
        typedef T Whole __attribute__((vector_size(4 * sizeof(T)))); \
        union {                                                   \
            struct {                                              \
                T x, y, z, w;                                     \
            };                                                    \
            Whole whole;                                          \
            EMU_KEPT_WHOLE                                        \
        };                                                        \
        EMU_LISTED4(name, T)                                      \
        EMU_COPIED_WHOLE(name)                                    \
    };
// 32 bytes: two accesses of 16
#define EMU_LONG_VECTOR4(name, T, alignment) \
    struct alignas(alignment) name {         \
        T x, y, z, w;                        \
    };

#define EMU_VECTORS(name, T) EMU_VECTOR1(name##1, T) EMU_VECTOR2(name##2, T) EMU_VECTOR3(name##3, T)
#define EMU_SHORT_VECTORS(name, T) EMU_VECTORS(name, T) EMU_VECTOR4(name##4, T)
#define EMU_LONG_VECTORS(name, T)                                                 \
    EMU_VECTORS(name, T) EMU_LONG_VECTOR4(name##4, T, 16)                          \
    EMU_LONG_VECTOR4(name##4_16a, T, 16) EMU_LONG_VECTOR4(name##4_32a, T, 32)

EMU_SHORT_VECTORS(char, signed char)
EMU_SHORT_VECTORS(uchar, unsigned char)
EMU_SHORT_VECTORS(short, short)
EMU_SHORT_VECTORS(ushort, unsigned short)
EMU_SHORT_VECTORS(int, int)
EMU_SHORT_VECTORS(uint, unsigned int)
EMU_SHORT_VECTORS(float, float)
EMU_LONG_VECTORS(long, long)
EMU_LONG_VECTORS(ulong, unsigned long)
EMU_LONG_VECTORS(longlong, long long)
EMU_LONG_VECTORS(ulonglong, unsigned long long)
EMU_LONG_VECTORS(double, double)

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr dim3(emu::Index v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
    constexpr operator emu::Index() const { return emu::Index{x, y, z}; }
};
