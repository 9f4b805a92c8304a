// Floating-point numbers of 8 bits: e4m3 and e5m2.
//
// The formats are those of the OCP 8-bit Floating Point Specification (OFP8, 1.0, section 5): e4m3 has a bias of 7, no
// infinity, and a NaN where exponent and fraction are all ones, so that 448 is its largest number; e5m2 is as IEEE 754
// would have it, up to 57344. What conversions do is said in CUDA's Math API (FP8 intrinsics): they round to the
// nearest, ties to even, once; beyond the largest number __NV_SATFINITE gives that number, infinity included, and
// __NV_NOSAT gives infinity, or NaN where there is none. A NaN stays one.
#pragma once

#include <cmath>
#include <cstdint>

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

namespace emu::numbers {

struct EightBits {
    int bias, fraction_bits;
    unsigned char largest, beyond;  // `beyond`: what an overflow gives that does not saturate
};
constexpr EightBits eight_bits(__nv_fp8_interpretation_t as) {
    return as == __NV_E4M3 ? EightBits{7, 3, 0x7E, 0x7F} : EightBits{15, 2, 0x7B, 0x7C};
}

constexpr bool is_nan8(unsigned char bits, __nv_fp8_interpretation_t as) {
    return (bits & 0x7Fu) > (as == __NV_E4M3 ? 0x7Eu : 0x7Cu);
}

/// A half holds every number of both formats; its NaN is the device's.
constexpr uint16_t widened8(unsigned char bits, __nv_fp8_interpretation_t as) {
    if (is_nan8(bits, as)) return 0x7FFF;
    if (as == __NV_E5M2) return static_cast<uint16_t>(bits << 8);
    const uint16_t sign = static_cast<uint16_t>((bits & 0x80u) << 8);
    unsigned exponent = bits >> 3 & 0xFu, fraction = bits & 7u;
    if (exponent == 0) {
        if (fraction == 0) return sign;
        // below the normal numbers of e4m3, which are among those of a half
        exponent = 1;
        for (; !(fraction & 8u); fraction <<= 1) --exponent;
        fraction &= 7u;
    }
    return static_cast<uint16_t>(sign | (exponent + 8u) << 10 | fraction << 7);
}

inline unsigned char narrowed8(double value, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {
    const EightBits format = eight_bits(as);
    const uint64_t bits = bits_as<uint64_t>(value);
    const unsigned sign = static_cast<unsigned>(bits >> 63) << 7;
    if (value != value) {
        // e5m2 keeps what fits of what the NaN carries
        const unsigned payload = as == __NV_E4M3 ? 0x7Fu : 0x7Eu | (bits >> 50 & 3u);
        return static_cast<unsigned char>(sign | payload);
    }
    const double magnitude = std::fabs(value);
    if (magnitude > 1e6) {  // infinity, too: nothing is to be rounded
        return static_cast<unsigned char>(sign | (saturate == __NV_SATFINITE ? format.largest : format.beyond));
    }
    int exponent = magnitude > 0 ? std::ilogb(magnitude) : -format.bias;
    if (exponent < 1 - format.bias) exponent = 1 - format.bias;
    // in units of the last place, rounded by the processor: to the nearest, ties to even
    const double units = std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent));
    // a carry out of the fraction is one more in the exponent
    const unsigned rounded = (static_cast<unsigned>(exponent + format.bias - 1) << format.fraction_bits) +
                             static_cast<unsigned>(units);
    if (rounded <= format.largest) return static_cast<unsigned char>(sign | rounded);
    return static_cast<unsigned char>(sign | (saturate == __NV_SATFINITE ? format.largest : format.beyond));
}

/// The same of a float, whose NaN becomes the device's.
inline unsigned char narrowed8(float value, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {
    return value != value ? 0x7F : narrowed8(static_cast<double>(value), saturate, as);
}

/// One number.
template <__nv_fp8_interpretation_t as>
struct Eight {
    __nv_fp8_storage_t __x;

    Eight() = default;
    explicit Eight(double value) : __x(narrowed8(value, __NV_SATFINITE, as)) {}
    explicit Eight(float value) : __x(narrowed8(value, __NV_SATFINITE, as)) {}
    explicit Eight(__half value) : Eight(static_cast<float>(value)) {}
    explicit Eight(__nv_bfloat16 value) : Eight(static_cast<float>(value)) {}
    template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
    explicit Eight(Integer value) : Eight(static_cast<float>(value)) {}

    explicit operator __half() const { return __half::of_bits(widened8(__x, as)); }
    explicit operator float() const { return widened<Binary16>(widened8(__x, as)); }
    explicit operator double() const { return static_cast<float>(*this); }
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(static_cast<float>(*this)); }
    explicit operator bool() const { return (__x & 0x7Fu) != 0; }
    template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>>>
    explicit operator Integer() const {
        return emu::clamped<Integer>(truncf(static_cast<float>(*this)));
    }
};

template <__nv_fp8_interpretation_t as, class Storage, int count>
struct EightPacked {
    Storage __x;

    static unsigned char of(float value) { return narrowed8(value, __NV_SATFINITE, as); }
    static unsigned char of(double value) { return narrowed8(value, __NV_SATFINITE, as); }
    float part(int i) const { return widened<Binary16>(widened8(static_cast<unsigned char>(__x >> (8 * i)), as)); }
};

template <__nv_fp8_interpretation_t as>
struct alignas(2) EightPair : EightPacked<as, __nv_fp8x2_storage_t, 2> {
    EightPair() = default;
    explicit EightPair(float2 v) { put(this->of(v.x), this->of(v.y)); }
    explicit EightPair(double2 v) { put(this->of(v.x), this->of(v.y)); }
    explicit EightPair(__half2 v) { put(this->of(float(v.x)), this->of(float(v.y))); }
    explicit EightPair(__nv_bfloat162 v) { put(this->of(float(v.x)), this->of(float(v.y))); }
    explicit operator float2() const { return float2{this->part(0), this->part(1)}; }
    explicit operator __half2() const { return __half2(__half(this->part(0)), __half(this->part(1))); }

private:
    void put(unsigned x, unsigned y) { this->__x = static_cast<__nv_fp8x2_storage_t>(x | y << 8); }
};

template <__nv_fp8_interpretation_t as>
struct alignas(4) EightFour : EightPacked<as, __nv_fp8x4_storage_t, 4> {
    EightFour() = default;
    explicit EightFour(float4 v) { put(this->of(v.x), this->of(v.y), this->of(v.z), this->of(v.w)); }
    explicit EightFour(double4 v) { put(this->of(v.x), this->of(v.y), this->of(v.z), this->of(v.w)); }
    EightFour(__half2 low, __half2 high) {
        put(this->of(float(low.x)), this->of(float(low.y)), this->of(float(high.x)), this->of(float(high.y)));
    }
    EightFour(__nv_bfloat162 low, __nv_bfloat162 high) {
        put(this->of(float(low.x)), this->of(float(low.y)), this->of(float(high.x)), this->of(float(high.y)));
    }
    explicit operator float4() const { return float4{this->part(0), this->part(1), this->part(2), this->part(3)}; }

private:
    void put(unsigned x, unsigned y, unsigned z, unsigned w) { this->__x = x | y << 8 | z << 16 | w << 24; }
};

}  // namespace emu::numbers
