// Intrinsics of 16-bit numbers and pairs that half and bfloat16 share.
#pragma once

#include "math.h"
#include "narrow.h"

namespace emu {

/// A parameter that takes what converts to T, and does not say what T is.
template <class T>
using As = std::common_type_t<T>;

template <class N>
constexpr N saturated(N a) {
    return a > N(0) ? (a < N(1) ? a : N(1)) : N(0);
}
template <class N>
constexpr N rectified(N a) {
    return a.is_nan() ? N::of_bits(N::Format::nan) : a > N(0) ? a : N(0);
}
/// +0 is above -0; of a NaN and a number the number is taken.
template <class N>
constexpr N larger(N a, N b) {
    if (a.is_nan()) return b.is_nan() ? N::of_bits(N::Format::nan) : b;
    if (b.is_nan()) return a;
    return a == b ? N::of_bits(a.bits & b.bits) : a < b ? b : a;
}
template <class N>
constexpr N smaller(N a, N b) {
    return a.is_nan() || b.is_nan() ? larger(a, b) : -larger(-a, -b);
}
template <class N>
constexpr N nan_or(N a, N b, N result) {
    return a.is_nan() || b.is_nan() ? N::of_bits(N::Format::nan) : result;
}
template <class N>
constexpr N fused(N a, N b, N c) {
    return N::of(multiplied_added(float(a), float(b), float(c)));
}

}  // namespace emu

// name(a): a number's; name2(a): a pair's
#define EMU_NARROW1(name, name2, expression) \
    template <class F> \
    constexpr emu::Narrow<F> name(emu::Narrow<F> a) { \
        using N [[maybe_unused]] = emu::Narrow<F>; \
        return N(expression); \
    } \
    template <class F> \
    EMU_INLINE emu::NarrowPair<F> name2(emu::NarrowPair<F> a) { \
        return {name(a.x), name(a.y)}; \
    }
#define EMU_NARROW2(name, name2, expression) \
    template <class F> \
    constexpr emu::Narrow<F> name(emu::Narrow<F> a, emu::As<emu::Narrow<F>> b) { \
        return expression; \
    } \
    template <class F> \
    EMU_INLINE emu::NarrowPair<F> name2(emu::NarrowPair<F> a, emu::NarrowPair<F> b) { \
        return {name(a.x, b.x), name(a.y, b.y)}; \
    }
#define EMU_NARROW3(name, name2, expression) \
    template <class F> \
    constexpr emu::Narrow<F> name(emu::Narrow<F> a, emu::As<emu::Narrow<F>> b, emu::As<emu::Narrow<F>> c) { \
        return expression; \
    } \
    template <class F> \
    EMU_INLINE emu::NarrowPair<F> name2(emu::NarrowPair<F> a, emu::NarrowPair<F> b, emu::NarrowPair<F> c) { \
        return {name(a.x, b.x, c.x), name(a.y, b.y, c.y)}; \
    }

// ---- arithmetic ---------------------------------------------------------------------------------------------------

EMU_NARROW2(__hadd, __hadd2, a + b)
EMU_NARROW2(__hsub, __hsub2, a - b)
EMU_NARROW2(__hmul, __hmul2, a* b)
EMU_NARROW2(__hdiv, __h2div, a / b)
EMU_NARROW2(__hadd_rn, __hadd2_rn, a + b)
EMU_NARROW2(__hsub_rn, __hsub2_rn, a - b)
EMU_NARROW2(__hmul_rn, __hmul2_rn, a* b)
EMU_NARROW2(__hadd_sat, __hadd2_sat, emu::saturated(a + b))
EMU_NARROW2(__hsub_sat, __hsub2_sat, emu::saturated(a - b))
EMU_NARROW2(__hmul_sat, __hmul2_sat, emu::saturated(a* b))
EMU_NARROW3(__hfma, __hfma2, emu::fused(a, b, c))
EMU_NARROW3(__hfma_sat, __hfma2_sat, emu::saturated(emu::fused(a, b, c)))
EMU_NARROW3(__hfma_relu, __hfma2_relu, emu::rectified(emu::fused(a, b, c)))
EMU_NARROW2(__hmax, __hmax2, emu::larger(a, b))
EMU_NARROW2(__hmin, __hmin2, emu::smaller(a, b))
EMU_NARROW2(__hmax_nan, __hmax2_nan, emu::nan_or(a, b, emu::larger(a, b)))
EMU_NARROW2(__hmin_nan, __hmin2_nan, emu::nan_or(a, b, emu::smaller(a, b)))
EMU_NARROW1(__hneg, __hneg2, -a)
EMU_NARROW1(__habs, __habs2, N::of_bits(a.bits & 0x7FFFu))

/// a * b + c of complex numbers (x + iy).
template <class F>
EMU_INLINE emu::NarrowPair<F> __hcmadd(emu::NarrowPair<F> a, emu::NarrowPair<F> b, emu::NarrowPair<F> c) {
    return {emu::fused(-a.y, b.y, emu::fused(a.x, b.x, c.x)), emu::fused(a.y, b.x, emu::fused(a.x, b.y, c.y))};
}

// ---- functions, computed in float ---------------------------------------------------------------------------------

EMU_NARROW1(hexp, h2exp, expf(float(a)))
EMU_NARROW1(hexp2, h2exp2, exp2f(float(a)))
EMU_NARROW1(hexp10, h2exp10, exp10f(float(a)))
EMU_NARROW1(hlog, h2log, logf(float(a)))
EMU_NARROW1(hlog2, h2log2, log2f(float(a)))
EMU_NARROW1(hlog10, h2log10, log10f(float(a)))
EMU_NARROW1(hsin, h2sin, sinf(float(a)))
EMU_NARROW1(hcos, h2cos, cosf(float(a)))
EMU_NARROW1(htanh, h2tanh, tanhf(float(a)))
EMU_NARROW1(htanh_approx, h2tanh_approx, tanhf(float(a)))
EMU_NARROW1(hsqrt, h2sqrt, sqrt(double(float(a))))
EMU_NARROW1(hrsqrt, h2rsqrt, 1.0 / sqrt(double(float(a))))
EMU_NARROW1(hrcp, h2rcp, 1.0 / double(float(a)))
EMU_NARROW1(hceil, h2ceil, ceilf(float(a)))
EMU_NARROW1(hfloor, h2floor, floorf(float(a)))
EMU_NARROW1(htrunc, h2trunc, truncf(float(a)))
EMU_NARROW1(hrint, h2rint, nearbyintf(float(a)))

// ---- comparisons: of numbers, of pairs as 1.0 or 0.0, as masks, of both at once -----------------------------------

#define EMU_COMPARED(suffix, expression) \
    template <class F> \
    constexpr bool __h##suffix(emu::Narrow<F> a, emu::As<emu::Narrow<F>> b) { \
        return expression; \
    } \
    template <class F> \
    EMU_INLINE emu::NarrowPair<F> __h##suffix##2(emu::NarrowPair<F> a, emu::NarrowPair<F> b) { \
        return {emu::Narrow<F>(__h##suffix(a.x, b.x)), emu::Narrow<F>(__h##suffix(a.y, b.y))}; \
    } \
    template <class F> \
    EMU_INLINE unsigned __h##suffix##2_mask(emu::NarrowPair<F> a, emu::NarrowPair<F> b) { \
        return (__h##suffix(a.x, b.x) ? 0xFFFFu : 0u) | (__h##suffix(a.y, b.y) ? 0xFFFF0000u : 0u); \
    } \
    template <class F> \
    EMU_INLINE bool __hb##suffix##2(emu::NarrowPair<F> a, emu::NarrowPair<F> b) { \
        return __h##suffix(a.x, b.x) && __h##suffix(a.y, b.y); \
    }
EMU_COMPARED(eq, a == b)
EMU_COMPARED(ne, a < b || a > b)
EMU_COMPARED(lt, a < b)
EMU_COMPARED(le, a <= b)
EMU_COMPARED(gt, a > b)
EMU_COMPARED(ge, a >= b)
EMU_COMPARED(equ, !(a < b || a > b))
EMU_COMPARED(neu, a != b)
EMU_COMPARED(ltu, !(a >= b))
EMU_COMPARED(leu, !(a > b))
EMU_COMPARED(gtu, !(a <= b))
EMU_COMPARED(geu, !(a < b))

template <class F>
constexpr bool __hisnan(emu::Narrow<F> a) {
    return a.is_nan();
}
template <class F>
EMU_INLINE emu::NarrowPair<F> __hisnan2(emu::NarrowPair<F> a) {
    return {emu::Narrow<F>(a.x.is_nan()), emu::Narrow<F>(a.y.is_nan())};
}
/// 1 for +infinity, -1 for -infinity.
template <class F>
constexpr int __hisinf(emu::Narrow<F> a) {
    return (a.bits & 0x7FFFu) != F::infinity ? 0 : a.bits >> 15 ? -1 : 1;
}

// ---- pairs --------------------------------------------------------------------------------------------------------

template <class F>
EMU_INLINE float __low2float(emu::NarrowPair<F> a) {
    return a.x;
}
template <class F>
EMU_INLINE float __high2float(emu::NarrowPair<F> a) {
    return a.y;
}
template <class F>
EMU_INLINE emu::NarrowPair<F> __lowhigh2highlow(emu::NarrowPair<F> a) {
    return {a.y, a.x};
}
