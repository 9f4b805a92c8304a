// make_float4 and its like.
#pragma once

#include "vector_types.h"

#define EMU_MAKE1(name, T) \
    EMU_INLINE constexpr name make_##name(T x) { return {x}; }
#define EMU_MAKE2(name, T) \
    EMU_INLINE constexpr name make_##name(T x, T y) { return {x, y}; }
#define EMU_MAKE3(name, T) \
    EMU_INLINE constexpr name make_##name(T x, T y, T z) { return {x, y, z}; }
#define EMU_MAKE4(name, T) \
    EMU_INLINE constexpr name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
#define EMU_MAKE(name, T) EMU_MAKE1(name##1, T) EMU_MAKE2(name##2, T) EMU_MAKE3(name##3, T) EMU_MAKE4(name##4, T)
#define EMU_MAKE_LONG(name, T) EMU_MAKE(name, T) EMU_MAKE4(name##4_16a, T) EMU_MAKE4(name##4_32a, T)

EMU_MAKE(char, signed char)
EMU_MAKE(uchar, unsigned char)
EMU_MAKE(short, short)
EMU_MAKE(ushort, unsigned short)
EMU_MAKE(int, int)
EMU_MAKE(uint, unsigned int)
EMU_MAKE(float, float)
EMU_MAKE_LONG(long, long)
EMU_MAKE_LONG(ulong, unsigned long)
EMU_MAKE_LONG(longlong, long long)
EMU_MAKE_LONG(ulonglong, unsigned long long)
EMU_MAKE_LONG(double, double)
