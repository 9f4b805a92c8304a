// Conversions of a 16-bit type, whose names have the type's in them: __float2half, __float2bfloat16.
#pragma once

#include "../vector_types.h"
#include "atomics.h"
#include "narrow.h"
#include "rounding.h"

#define EMU_FROM(From, N, name)                                                                               \
    inline N name##_rn(From a) { return N::of(emu::exactly(a), emu::Rounding::Nearest); }                     \
    inline N name##_rz(From a) { return N::of(emu::exactly(a), emu::Rounding::Zero); }                        \
    inline N name##_ru(From a) { return N::of(emu::exactly(a), emu::Rounding::Up); }                          \
    inline N name##_rd(From a) { return N::of(emu::exactly(a), emu::Rounding::Down); }
#define EMU_INTO(To, N, name)                                                            \
    inline To name##_rn(N a) { return emu::clamped<To>(nearbyintf(float(a))); }          \
    inline To name##_rz(N a) { return emu::clamped<To>(truncf(float(a))); }              \
    inline To name##_ru(N a) { return emu::clamped<To>(ceilf(float(a))); }               \
    inline To name##_rd(N a) { return emu::clamped<To>(floorf(float(a))); }
#define EMU_INTEGER_NAMES(Integer, word, N, h)     \
    EMU_FROM(Integer, N, __##word##2##h)           \
    EMU_INTO(Integer, N, __##h##2##word)

#define EMU_NUMBER_NAMES(N, h)                                                                        \
    EMU_INTEGER_NAMES(short, short, N, h)                                                             \
    EMU_INTEGER_NAMES(unsigned short, ushort, N, h)                                                   \
    EMU_INTEGER_NAMES(int, int, N, h)                                                                 \
    EMU_INTEGER_NAMES(unsigned int, uint, N, h)                                                       \
    EMU_INTEGER_NAMES(long long, ll, N, h)                                                            \
    EMU_INTEGER_NAMES(unsigned long long, ull, N, h)                                                  \
    inline signed char __##h##2char_rz(N a) { return emu::clamped<signed char>(truncf(float(a))); }   \
    inline unsigned char __##h##2uchar_rz(N a) { return emu::clamped<unsigned char>(truncf(float(a))); } \
    inline N __float2##h(float a) { return N::of(a); }                                                \
    inline N __float2##h##_rn(float a) { return N::of(a, emu::Rounding::Nearest); }                   \
    inline N __float2##h##_rz(float a) { return N::of(a, emu::Rounding::Zero); }                      \
    inline N __float2##h##_ru(float a) { return N::of(a, emu::Rounding::Up); }                        \
    inline N __float2##h##_rd(float a) { return N::of(a, emu::Rounding::Down); }                      \
    inline N __double2##h(double a) { return N::of(a); }                                              \
    inline float __##h##2float(N a) { return a; }                                                     \
    inline short __##h##_as_short(N a) { return static_cast<short>(a.bits); }                         \
    inline unsigned short __##h##_as_ushort(N a) { return a.bits; }                                   \
    inline N __short_as_##h(short a) { return N::of_bits(static_cast<uint16_t>(a)); }                 \
    inline N __ushort_as_##h(unsigned short a) { return N::of_bits(a); }

#define EMU_PAIR_NAMES(N, P, h)                                                  \
    EMU_INLINE P make_##h##2(N x, N y) { return P(x, y); }                           \
    EMU_INLINE P __halves2##h##2(N x, N y) { return P(x, y); }                       \
    EMU_INLINE P __##h##2##h##2(N a) { return P(a, a); }                             \
    EMU_INLINE P __float2##h##2_rn(float a) { return P(N::of(a), N::of(a)); }        \
    EMU_INLINE P __floats2##h##2_rn(float x, float y) { return P(N::of(x), N::of(y)); } \
    EMU_INLINE P __float22##h##2_rn(float2 a) { return P(N::of(a.x), N::of(a.y)); }  \
    EMU_INLINE float2 __##h##22float2(P a) { return float2{float(a.x), float(a.y)}; } \
    EMU_INLINE N __low2##h(P a) { return a.x; }                                      \
    EMU_INLINE N __high2##h(P a) { return a.y; }                                     \
    EMU_INLINE P __low2##h##2(P a) { return P(a.x, a.x); }                           \
    EMU_INLINE P __high2##h##2(P a) { return P(a.y, a.y); }                          \
    EMU_INLINE P __lows2##h##2(P a, P b) { return P(a.x, b.x); }                     \
    EMU_INLINE P __highs2##h##2(P a, P b) { return P(a.y, b.y); }                    \
    EMU_ATOMIC(atomicAdd, N, old + value)                                        \
    EMU_ATOMIC(atomicAdd, P, old + value)
