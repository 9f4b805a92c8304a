// Arithmetic and conversions in a named rounding mode.
#pragma once

#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "emulator.h"

namespace emu {

/// The same value, which the compiler may not fold into a fused multiply-add.
template <class T>
inline __attribute__((always_inline)) T alone(T value) {
#if defined(__SSE2__)
    asm("" : "+x"(value));
#else
    asm("" : "+w"(value));
#endif
    return value;
}

/// `operation()` under the host's rounding mode `mode`; its operands must be volatile so that it happens here.
template <class Operation>
EMU_OUTLINE auto rounded(int mode, Operation operation) {
    const int before = std::fegetround();
    std::fesetround(mode);
    const volatile auto result = operation();
    std::fesetround(before);
    return static_cast<std::remove_cv_t<decltype(result)>>(result);
}

/// A floating-point value as the device converts it to an integer: NaN to 0 (64 bits: the sign bit), the rest clamped.
template <class Integer, class Float>
constexpr Integer clamped(Float value) {
    using Limits = std::numeric_limits<Integer>;
    if (value != value) return sizeof(Integer) == 8 ? Integer(1) << 63 : Integer(0);
    if (value < static_cast<Float>(Limits::min())) return Limits::min();
    if (value >= static_cast<Float>(Limits::max())) return Limits::max();
    return static_cast<Integer>(value);
}

}  // namespace emu

#define EMU_ROUNDED(name, T, mode, parameters, captures, expression) \
    EMU_OUTLINE inline T name parameters { \
        return ::emu::rounded(mode, [=]() EMU_UNINSTRUMENTED -> T { captures return expression; }); \
    }
#define EMU_ROUNDED1(prefix, T, expression, suffix, mode) \
    EMU_ROUNDED(prefix##suffix, T, mode, (T x), volatile T a = x;, expression)
#define EMU_ROUNDED2(prefix, T, expression, suffix, mode) \
    EMU_ROUNDED(prefix##suffix, T, mode, (T x, T y), volatile T a = x; volatile T b = y;, expression)
#define EMU_ROUNDED3(prefix, T, expression, suffix, mode) \
    EMU_ROUNDED(prefix##suffix, T, mode, (T x, T y, T z), volatile T a = x; volatile T b = y; volatile T c = z;, \
                expression)
#define EMU_DIRECTED(kind, prefix, T, expression) \
    kind(prefix, T, expression, _rz, FE_TOWARDZERO) \
    kind(prefix, T, expression, _ru, FE_UPWARD) \
    kind(prefix, T, expression, _rd, FE_DOWNWARD)

#define EMU_ARITHMETIC(f, T, root) \
    inline T __##f##add_rn(T a, T b) { return emu::alone(a + b); } \
    inline T __##f##sub_rn(T a, T b) { return emu::alone(a - b); } \
    inline T __##f##mul_rn(T a, T b) { return emu::alone(a * b); } \
    inline T __##f##div_rn(T a, T b) { return emu::alone(a / b); } \
    inline T __##f##rcp_rn(T a) { return emu::alone(T(1) / a); } \
    inline T __##f##sqrt_rn(T a) { return root(a); } \
    EMU_DIRECTED(EMU_ROUNDED2, __##f##add, T, a + b) \
    EMU_DIRECTED(EMU_ROUNDED2, __##f##sub, T, a - b) \
    EMU_DIRECTED(EMU_ROUNDED2, __##f##mul, T, a* b) \
    EMU_DIRECTED(EMU_ROUNDED2, __##f##div, T, a / b) \
    EMU_DIRECTED(EMU_ROUNDED1, __##f##rcp, T, T(1) / a) \
    EMU_DIRECTED(EMU_ROUNDED1, __##f##sqrt, T, root(a))
EMU_ARITHMETIC(f, float, sqrtf)
EMU_ARITHMETIC(d, double, sqrt)
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
EMU_DIRECTED(EMU_ROUNDED3, __fmaf, float, fmaf(a, b, c))
EMU_DIRECTED(EMU_ROUNDED3, __fma, double, fma(a, b, c))
inline float __frsqrt_rn(float a) { return static_cast<float>(1.0 / sqrt(static_cast<double>(a))); }

#define EMU_TO_INTEGER(name, From, To) \
    inline To __##name##_rn(From x) { return emu::clamped<To>(std::nearbyint(x)); } \
    inline To __##name##_rz(From x) { return emu::clamped<To>(std::trunc(x)); } \
    inline To __##name##_ru(From x) { return emu::clamped<To>(std::ceil(x)); } \
    inline To __##name##_rd(From x) { return emu::clamped<To>(std::floor(x)); }
EMU_TO_INTEGER(float2int, float, int)
EMU_TO_INTEGER(float2uint, float, unsigned int)
EMU_TO_INTEGER(float2ll, float, long long)
EMU_TO_INTEGER(float2ull, float, unsigned long long)
EMU_TO_INTEGER(double2int, double, int)
EMU_TO_INTEGER(double2uint, double, unsigned int)
EMU_TO_INTEGER(double2ll, double, long long)
EMU_TO_INTEGER(double2ull, double, unsigned long long)

#define EMU_CONVERTED_ROUNDED(name, From, To, suffix, mode) \
    EMU_ROUNDED(__##name##suffix, To, mode, (From x), volatile From a = x;, static_cast<To>(a))
#define EMU_TO_FLOATING(name, From, To) \
    inline To __##name##_rn(From x) { return static_cast<To>(x); } \
    EMU_CONVERTED_ROUNDED(name, From, To, _rz, FE_TOWARDZERO) \
    EMU_CONVERTED_ROUNDED(name, From, To, _ru, FE_UPWARD) \
    EMU_CONVERTED_ROUNDED(name, From, To, _rd, FE_DOWNWARD)
EMU_TO_FLOATING(int2float, int, float)
EMU_TO_FLOATING(uint2float, unsigned int, float)
EMU_TO_FLOATING(ll2float, long long, float)
EMU_TO_FLOATING(ull2float, unsigned long long, float)
EMU_TO_FLOATING(ll2double, long long, double)
EMU_TO_FLOATING(ull2double, unsigned long long, double)
EMU_TO_FLOATING(double2float, double, float)
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned int x) { return x; }
