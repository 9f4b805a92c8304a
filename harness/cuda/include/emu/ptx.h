// What translated inline PTX is made of.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../vector_types.h"
#include "emulator.h"

namespace emu::ptx {

/// A register's bits as another type of its size, else its value converted.
template <class To, class From>
EMU_INLINE To register_as(const From& from) {
    if constexpr (std::is_pointer_v<From>) {
        return static_cast<To>(reinterpret_cast<uintptr_t>(from));
    } else if constexpr (sizeof(To) == sizeof(From) && !std::is_same_v<To, bool> && !std::is_same_v<From, bool>) {
        return __builtin_bit_cast(To, from);
    } else {
        return static_cast<To>(from);
    }
}
template <class To, class From>
EMU_INLINE void put(To& to, const From& from) {
    if constexpr (sizeof(To) == sizeof(From) && std::is_arithmetic_v<To> && !std::is_same_v<From, bool>) {
        to = __builtin_bit_cast(To, from);
    } else {
        to = static_cast<To>(from);
    }
}

template <class T>
EMU_INLINE T* place(uint64_t address, int64_t offset) {
    return reinterpret_cast<T*>(address + static_cast<uint64_t>(offset));
}
/// An address in shared memory is an offset in it.
template <class T>
EMU_INLINE T* shared_place(uint64_t address, int64_t offset) {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(dynamic_shared()) + static_cast<uint32_t>(address) + offset);
}

template <class T, unsigned Count>
struct alignas(Count * sizeof(T)) Pack {
    T at[Count];
};
template <class T>
EMU_INLINE T load(const T* from) { return *from; }
template <class T>
EMU_INLINE void store(T* to, const T& value) { *to = value; }
// vectors of one access
template <class T, unsigned Count>
EMU_OUTLINE Pack<T, Count> load(const Pack<T, Count>* from) {
    access(from, sizeof *from, false, EMU_PC);
    return *from;
}
template <class T, unsigned Count>
EMU_OUTLINE void store(Pack<T, Count>* to, const Pack<T, Count>& value) {
    access(to, sizeof *to, true, EMU_PC);
    *to = value;
}

/// `bytes` (4, 8 or 16) bytes, of which `taken` are read and the rest are zeros.
EMU_OUTLINE inline void copied_ahead(char* to, const char* from, unsigned bytes, unsigned taken) {
    if (taken == bytes) access(from, bytes, false, EMU_PC);
    else for (unsigned i = 0; i < taken; ++i) access(from + i, 1, false, EMU_PC);
    access(to, bytes, true, EMU_PC);
    for (unsigned i = 0; i < bytes; ++i) to[i] = i < taken ? from[i] : char(0);
}

EMU_INLINE uint32_t looked_up(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t result = 0;
    for (unsigned row = 0; row < 8; ++row) {
        if (table >> row & 1u) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    }
    return result;
}
template <class T>
EMU_INLINE T shifted_left(T value, uint32_t by) {
    using U = std::make_unsigned_t<T>;
    return by < 8 * sizeof(T) ? static_cast<T>(static_cast<U>(value) << by) : T{0};
}
template <class T>
EMU_INLINE T shifted_right(T value, uint32_t by) {
    const uint32_t most = 8 * sizeof(T) - 1;
    if (by > most) return std::is_signed_v<T> ? static_cast<T>(value >> most) : T{0};
    return static_cast<T>(value >> by);
}
template <class T>
EMU_INLINE T lesser(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmin(a, b);
    else return b < a ? b : a;
}
template <class T>
EMU_INLINE T greater(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmax(a, b);
    else return a < b ? b : a;
}
template <class T>
EMU_INLINE T magnitude(T value) { return value < 0 ? -value : value; }
template <class T>
EMU_INLINE T fused(T a, T b, T c) { return std::fma(a, b, c); }
template <class T>
EMU_INLINE int ones(T value) { return __builtin_popcountll(static_cast<std::make_unsigned_t<T>>(value)); }
template <class T>
EMU_INLINE int leading_zeros(T value) {
    const auto bits = static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
    return bits == 0 ? 8 * static_cast<int>(sizeof(T)) : __builtin_clzll(bits) - 64 + 8 * static_cast<int>(sizeof(T));
}
template <class T>
EMU_INLINE T high_half(T a, T b) {
    using Wide = std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                                    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (8 * sizeof(T)));
}

}  // namespace emu::ptx

/// The offset of a pointer in shared memory, as PTX addresses it there.
EMU_INLINE size_t __cvta_generic_to_shared(const void* pointer) {
    return static_cast<size_t>(static_cast<const unsigned char*>(pointer) -
                               static_cast<const unsigned char*>(emu::dynamic_shared()));
}
EMU_INLINE void* __cvta_shared_to_generic(size_t offset) {
    return static_cast<unsigned char*>(emu::dynamic_shared()) + offset;
}
EMU_INLINE size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<size_t>(pointer); }
EMU_INLINE void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
