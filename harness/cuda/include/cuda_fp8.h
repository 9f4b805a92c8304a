// __nv_fp8_e4m3, __nv_fp8_e5m2, and packs of two and of four.
#pragma once

#include "emu/eight_bits.h"

using __nv_fp8_e4m3 = emu::numbers::Eight<__NV_E4M3>;
using __nv_fp8_e5m2 = emu::numbers::Eight<__NV_E5M2>;
using __nv_fp8x2_e4m3 = emu::numbers::EightPair<__NV_E4M3>;
using __nv_fp8x2_e5m2 = emu::numbers::EightPair<__NV_E5M2>;
using __nv_fp8x4_e4m3 = emu::numbers::EightFour<__NV_E4M3>;
using __nv_fp8x4_e5m2 = emu::numbers::EightFour<__NV_E5M2>;

#define EMU_INTO_FP8(name, From, to_number)                                                                          \
    inline __nv_fp8_storage_t name(From x, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {                \
        return emu::numbers::narrowed8(to_number, saturate, as);                                                      \
    }
#define EMU_INTO_FP8X2(name, one, Pair, One)                                                                          \
    inline __nv_fp8x2_storage_t name(Pair pair, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {           \
        const unsigned low = one(One{pair.x}, saturate, as), high = one(One{pair.y}, saturate, as);                   \
        return static_cast<__nv_fp8x2_storage_t>(low | high << 8);                                                    \
    }
EMU_INTO_FP8(__nv_cvt_double_to_fp8, double, x)
EMU_INTO_FP8(__nv_cvt_float_to_fp8, float, x)
EMU_INTO_FP8(__nv_cvt_halfraw_to_fp8, __half_raw, static_cast<float>(__half(x)))
EMU_INTO_FP8(__nv_cvt_bfloat16raw_to_fp8, __nv_bfloat16_raw, static_cast<float>(__nv_bfloat16(x)))
EMU_INTO_FP8X2(__nv_cvt_double2_to_fp8x2, __nv_cvt_double_to_fp8, double2, double)
EMU_INTO_FP8X2(__nv_cvt_float2_to_fp8x2, __nv_cvt_float_to_fp8, float2, float)
EMU_INTO_FP8X2(__nv_cvt_halfraw2_to_fp8x2, __nv_cvt_halfraw_to_fp8, __half2_raw, __half_raw)
EMU_INTO_FP8X2(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_cvt_bfloat16raw_to_fp8, __nv_bfloat162_raw, __nv_bfloat16_raw)
#undef EMU_INTO_FP8
#undef EMU_INTO_FP8X2

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t as) {
    return {emu::numbers::widened8(x, as)};
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t as) {
    return {emu::numbers::widened8(static_cast<unsigned char>(x), as),
            emu::numbers::widened8(static_cast<unsigned char>(x >> 8), as)};
}
