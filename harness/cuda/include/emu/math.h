// CUDA's mathematics beyond the host's: the fast intrinsics are exact here.
#pragma once

#include <math.h>
#include <stdlib.h>

#include <cmath>
#include <type_traits>

#include "bits.h"
#include "rounding.h"

// ---- min and max, also of mixed signs -----------------------------------------------------------------------------

#define EMU_ORDER(Result, A, B)                                                                       \
    constexpr Result min(A a, B b) { return static_cast<Result>(a) < static_cast<Result>(b) ? a : b; } \
    constexpr Result max(A a, B b) { return static_cast<Result>(a) < static_cast<Result>(b) ? b : a; }
#define EMU_ORDER_OF_SIGNS(T)              \
    EMU_ORDER(T, T, T)                     \
    EMU_ORDER(unsigned T, unsigned T, unsigned T) \
    EMU_ORDER(unsigned T, T, unsigned T)   \
    EMU_ORDER(unsigned T, unsigned T, T)
EMU_ORDER_OF_SIGNS(int)
EMU_ORDER_OF_SIGNS(long)
EMU_ORDER_OF_SIGNS(long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
#define EMU_FLOATING_ORDER(A, B)                              \
    inline double min(A a, B b) { return fmin(a, b); }        \
    inline double max(A a, B b) { return fmax(a, b); }
EMU_FLOATING_ORDER(double, double)
EMU_FLOATING_ORDER(float, double)
EMU_FLOATING_ORDER(double, float)

constexpr unsigned int umin(unsigned int a, unsigned int b) { return a < b ? a : b; }
constexpr unsigned int umax(unsigned int a, unsigned int b) { return a < b ? b : a; }
constexpr long long llmin(long long a, long long b) { return a < b ? a : b; }
constexpr long long llmax(long long a, long long b) { return a < b ? b : a; }
constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

// ---- functions that hosts lack ------------------------------------------------------------------------------------

namespace emu {

constexpr double pi = 3.14159265358979323846;

/// sin(pi * x) and cos(pi * x), exact at multiples of one half.
inline double sin_pi(double x) {
    const double turn = std::fmod(x, 2.0);
    const double folded = turn - 2.0 * std::nearbyint(turn / 2.0);
    if (folded == 0.0 || folded == 1.0 || folded == -1.0) return std::copysign(0.0, x);
    if (std::fabs(folded) > 0.5) return std::sin(pi * (std::copysign(1.0, folded) - folded));
    return std::sin(pi * folded);
}
inline double cos_pi(double x) {
    const double turn = std::fabs(std::fmod(x, 2.0));
    if (turn == 0.5 || turn == 1.5) return 0.0;
    return turn > 0.5 && turn < 1.5 ? -std::cos(pi * (turn - 1.0)) : std::cos(pi * (turn < 1.0 ? turn : 2.0 - turn));
}

/// Newton's steps on a starting value that is right to a few digits (Winitzki's formula).
inline double inverse_erf(double y) {
    if (!(std::fabs(y) < 1.0)) return y == 1.0 || y == -1.0 ? y * HUGE_VAL : std::nan("");
    const double a = 0.147;
    const double log = std::log1p(-y * y);
    const double half = 2.0 / (pi * a) + log / 2.0;
    double x = std::copysign(std::sqrt(std::sqrt(half * half - log / a) - half), y);
    for (int i = 0; i < 4; ++i) x -= (std::erf(x) - y) / (2.0 / std::sqrt(pi) * std::exp(-x * x));
    return x;
}
/// Newton's steps on the logarithm, which keeps the digits of small `y`.
inline double inverse_erfc(double y) {
    if (!(y > 0.0 && y < 2.0)) return y == 0.0 ? HUGE_VAL : y == 2.0 ? -HUGE_VAL : std::nan("");
    if (y > 0.0625) return y < 1.9375 ? inverse_erf(1.0 - y) : -inverse_erfc(2.0 - y);
    double x = std::sqrt(-std::log(y * std::sqrt(pi) * std::sqrt(-std::log(y))));
    for (int i = 0; i < 6; ++i) {
        const double tail = std::erfc(x);
        x += std::log(tail / y) * tail * std::sqrt(pi) / 2.0 * std::exp(x * x);
    }
    return x;
}
/// exp(x*x) * erfc(x): by its continued fraction where the factors would leave their range.
inline double scaled_erfc(double x) {
    if (x < 10.0) return std::exp(x * x) * std::erfc(x);
    double tail = 0.0;
    for (int i = 40; i > 0; --i) tail = i / 2.0 / (x + tail);
    return 1.0 / (std::sqrt(pi) * (x + tail));
}
/// Length of a vector without overflow on the way.
template <class T>
inline T length(int n, const T* values) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum = std::hypot(sum, static_cast<double>(values[i]));
    return static_cast<T>(sum);
}

}  // namespace emu

// newer C libraries have some of these
#if !(defined(__GLIBC__) && __GLIBC_PREREQ(2, 41))
inline double sinpi(double x) { return emu::sin_pi(x); }
inline double cospi(double x) { return emu::cos_pi(x); }
inline float sinpif(float x) { return static_cast<float>(emu::sin_pi(x)); }
inline float cospif(float x) { return static_cast<float>(emu::cos_pi(x)); }
#endif
#if !(defined(__GLIBC__) && __GLIBC_PREREQ(2, 42))
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrtf(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
#endif
inline float rsqrt(float x) { return rsqrtf(x); }
#if !defined(__GLIBC__)
inline double exp10(double x) { return pow(10.0, x); }
inline float exp10f(float x) { return static_cast<float>(pow(10.0, x)); }
inline void sincos(double x, double* sine, double* cosine) { *sine = sin(x), *cosine = cos(x); }
inline void sincosf(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
#endif

// one definition for double, and the float one through it
#define EMU_FUNCTION1(name, expression)                      \
    inline double name(double x) { return expression; }      \
    inline float name##f(float x) { return static_cast<float>(name(static_cast<double>(x))); }
EMU_FUNCTION1(rcbrt, 1.0 / cbrt(x))
EMU_FUNCTION1(erfinv, emu::inverse_erf(x))
EMU_FUNCTION1(erfcinv, emu::inverse_erfc(x))
EMU_FUNCTION1(erfcx, emu::scaled_erfc(x))
EMU_FUNCTION1(normcdf, erfc(-x / sqrt(2.0)) / 2.0)
EMU_FUNCTION1(normcdfinv, -sqrt(2.0) * emu::inverse_erfc(2.0 * x))
#if defined(__cpp_lib_math_special_functions) || (defined(__GLIBCXX__) && __cplusplus >= 201703L)
EMU_FUNCTION1(cyl_bessel_i0, std::cyl_bessel_i(0.0, fabs(x)))
EMU_FUNCTION1(cyl_bessel_i1, copysign(std::cyl_bessel_i(1.0, fabs(x)), x))
#endif
#define EMU_LENGTHS(T, f)                                                                          \
    inline T norm##f(int n, const T* x) { return emu::length(n, x); }                              \
    inline T rnorm##f(int n, const T* x) { return T(1) / emu::length(n, x); }                      \
    inline T norm3d##f(T a, T b, T c) { return static_cast<T>(std::hypot(double(a), double(b), double(c))); } \
    inline T rnorm3d##f(T a, T b, T c) { return static_cast<T>(1.0 / std::hypot(double(a), double(b), double(c))); } \
    inline T norm4d##f(T a, T b, T c, T d) {                                                       \
        const T x[] = {a, b, c, d};                                                                \
        return emu::length(4, x);                                                                  \
    }                                                                                              \
    inline T rnorm4d##f(T a, T b, T c, T d) { return T(1) / norm4d##f(a, b, c, d); }               \
    inline T rhypot##f(T a, T b) { return static_cast<T>(1.0 / std::hypot(double(a), double(b))); }
EMU_LENGTHS(double, )
EMU_LENGTHS(float, f)
inline void sincospi(double x, double* sine, double* cosine) { *sine = sinpi(x), *cosine = cospi(x); }
inline void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }

// ---- intrinsics ---------------------------------------------------------------------------------------------------

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline float __fdividef(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
inline double fdivide(double x, double y) { return x / y; }
/// Clamped to [0, 1]; NaN becomes 0.
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
