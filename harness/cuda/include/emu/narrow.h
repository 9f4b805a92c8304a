// Floating-point numbers of 16 bits (half, bfloat16) and pairs of them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../vector_types.h"
#include "bits.h"

/// Types alone: a function beside them would be found by every unqualified call that an author makes with a half.
namespace emu::numbers {

template <int exponent_bits_, int fraction_bits_>
struct Format {
    static constexpr int fraction_bits = fraction_bits_;
    static constexpr int bias = (1 << (exponent_bits_ - 1)) - 1;
    static constexpr uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits_) - 1) << fraction_bits_);
    static constexpr uint16_t nan = 0x7FFF;  // the one that the device's arithmetic gives
    static constexpr uint16_t one = static_cast<uint16_t>(bias << fraction_bits_);
};

}  // namespace emu::numbers

namespace emu {

using Binary16 = numbers::Format<5, 10>;
using Brain16 = numbers::Format<8, 7>;

enum class Rounding : uint8_t { Nearest, Zero, Up, Down };

/// Whether the part that is cut off (`rest` of 2 * `half`) carries into the magnitude `kept`.
constexpr bool carries(Rounding rounding, bool negative, uint64_t kept, uint64_t rest, uint64_t half) {
    switch (rounding) {
        case Rounding::Nearest: return rest > half || (rest == half && kept & 1u);
        case Rounding::Zero: return false;
        case Rounding::Up: return rest != 0 && !negative;
        case Rounding::Down: return rest != 0 && negative;
    }
    return false;
}

/// The 16 bits of `value`, rounded once.
template <class Format>
constexpr uint16_t narrowed(double value, Rounding rounding = Rounding::Nearest) {
    const uint64_t bits = bits_as<uint64_t>(value);
    const bool negative = bits >> 63;
    const uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
    const int biased = static_cast<int>(bits >> 52 & 0x7FFu);
    if (biased == 0x7FF && fraction) return Format::nan;
    const uint16_t sign = negative ? 0x8000 : 0;
    if (biased == 0x7FF) return sign | Format::infinity;
    // exponent of the result's last place: that of the value, or of the smallest normal number
    const int exponent = biased - 1023 + Format::bias;
    const int below_normal = exponent < 1 ? 1 - exponent : 0;
    const int cut = 52 - Format::fraction_bits + below_normal < 63 ? 52 - Format::fraction_bits + below_normal : 63;
    const uint64_t significand = biased ? fraction | uint64_t(1) << 52 : fraction;
    const uint64_t kept = significand >> cut;
    const uint64_t rest = significand & ((uint64_t(1) << cut) - 1);
    const uint64_t rounded = kept + carries(rounding, negative, kept, rest, uint64_t(1) << (cut - 1));
    // a carry out of the fraction is one more in the exponent
    const int below = below_normal ? 0 : exponent - 1;
    const uint64_t magnitude = (static_cast<uint64_t>(below) << Format::fraction_bits) + rounded;
    if (magnitude < Format::infinity) return static_cast<uint16_t>(sign | magnitude);
    const bool to_infinity = rounding == Rounding::Nearest || (rounding == Rounding::Up && !negative) ||
                             (rounding == Rounding::Down && negative);
    return static_cast<uint16_t>(sign | (to_infinity ? Format::infinity : Format::infinity - 1));
}

template <class Format>
constexpr float widened(uint16_t bits) {
    constexpr int shift = 23 - Format::fraction_bits;
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t magnitude = bits & 0x7FFFu;
    if (magnitude >= Format::infinity) return bits_as<float>(sign | 0x7F800000u | magnitude << shift);
    // scaling by a power of two is exact and makes subnormal numbers normal
    constexpr float scale = bits_as<float>(static_cast<uint32_t>(254 - Format::bias) << 23);
    return bits_as<float>(sign | bits_as<uint32_t>(bits_as<float>(magnitude << shift) * scale));
}

/// An integer as a double that rounds to any 16-bit format as the integer itself would: above 2**53 rounded to odd.
template <class Integer>
constexpr double exactly(Integer value) {
    if constexpr (sizeof(Integer) == 8) {
        constexpr Integer limit = Integer(1) << 53;
        const bool fits = value <= limit && (std::is_unsigned_v<Integer> || value >= Integer(0) - limit);
        const Integer cut = fits ? Integer(0) : value & Integer(0x7FF);
        return static_cast<double>(cut ? (value - cut) | Integer(0x800) : value);
    } else {
        return static_cast<double>(value);
    }
}

/// a * b + c rounded to odd: a second rounding to 16 bits then gives what one rounding would have. `a * b` is exact.
constexpr double multiplied_added(float a, float b, float c) {
    const double product = static_cast<double>(a) * static_cast<double>(b);
    const double addend = c;
    const double sum = product + addend;
    const double part = sum - product;
    const double error = (product - (sum - part)) + (addend - part);
    const uint64_t bits = bits_as<uint64_t>(sum);
    if (!(error > 0.0 || error < 0.0) || bits & 1u) return sum;
    return bits_as<double>((error > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1);
}

namespace numbers {

struct Raw {
    unsigned short x;
};
struct RawPair {
    unsigned short x, y;
};

template <class Format_>
struct alignas(2) Narrow {
    using Format = Format_;
    uint16_t bits;

    Narrow() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    constexpr Narrow(T value) : bits(narrowed<Format>(from(value))) {}
    template <class Other>
    explicit constexpr Narrow(Narrow<Other> value) : Narrow(static_cast<float>(value)) {}
    constexpr Narrow(Raw raw) : bits(raw.x) {}

    static constexpr Narrow of_bits(uint16_t bits) { return Narrow(Raw{bits}); }
    static constexpr Narrow of(double value, Rounding rounding = Rounding::Nearest) {
        return of_bits(narrowed<Format>(value, rounding));
    }

    constexpr operator float() const { return widened<Format>(bits); }
    constexpr operator Raw() const { return Raw{bits}; }
    constexpr bool is_nan() const { return (bits & 0x7FFFu) > Format::infinity; }

    friend constexpr Narrow operator+(Narrow a, Narrow b) { return of(double(float(a)) + double(float(b))); }
    friend constexpr Narrow operator-(Narrow a, Narrow b) { return of(double(float(a)) - double(float(b))); }
    friend constexpr Narrow operator*(Narrow a, Narrow b) { return of(double(float(a)) * double(float(b))); }
    friend constexpr Narrow operator/(Narrow a, Narrow b) { return of(double(float(a)) / double(float(b))); }
    friend constexpr Narrow operator+(Narrow a) { return a; }
    friend constexpr Narrow operator-(Narrow a) { return of_bits(a.bits ^ 0x8000u); }
    friend constexpr Narrow& operator+=(Narrow& a, Narrow b) { return a = a + b; }
    friend constexpr Narrow& operator-=(Narrow& a, Narrow b) { return a = a - b; }
    friend constexpr Narrow& operator*=(Narrow& a, Narrow b) { return a = a * b; }
    friend constexpr Narrow& operator/=(Narrow& a, Narrow b) { return a = a / b; }
    friend constexpr Narrow& operator++(Narrow& a) { return a += Narrow(1); }
    friend constexpr Narrow& operator--(Narrow& a) { return a -= Narrow(1); }
    friend constexpr Narrow operator++(Narrow& a, int) { return ++a - Narrow(1); }
    friend constexpr Narrow operator--(Narrow& a, int) { return --a + Narrow(1); }
    friend constexpr bool operator==(Narrow a, Narrow b) { return float(a) == float(b); }
    friend constexpr bool operator!=(Narrow a, Narrow b) { return float(a) != float(b); }
    friend constexpr bool operator<(Narrow a, Narrow b) { return float(a) < float(b); }
    friend constexpr bool operator>(Narrow a, Narrow b) { return float(a) > float(b); }
    friend constexpr bool operator<=(Narrow a, Narrow b) { return float(a) <= float(b); }
    friend constexpr bool operator>=(Narrow a, Narrow b) { return float(a) >= float(b); }

private:
    template <class T>
    static constexpr double from(T value) {
        if constexpr (std::is_integral_v<T>) return exactly(value);
        else return static_cast<double>(value);
    }
};

/// Two numbers in one 4-byte word, copied in one access.
template <class Format>
struct alignas(4) NarrowPair {
    using Number = Narrow<Format>;
    union {
        struct {
            Number x, y;
        };
        uint32_t word;
    };

    NarrowPair() = default;
    EMU_INLINE constexpr NarrowPair(Number x, Number y) : x(x), y(y) {}
    NarrowPair(RawPair raw) : x(Number::of_bits(raw.x)), y(Number::of_bits(raw.y)) {}
    EMU_INLINE NarrowPair(const NarrowPair& from) : word(from.word) {}
    EMU_INLINE NarrowPair& operator=(const NarrowPair& from) {
        word = from.word;
        return *this;
    }
    operator RawPair() const { return {x.bits, y.bits}; }

    EMU_INLINE friend NarrowPair operator+(NarrowPair a, NarrowPair b) { return {a.x + b.x, a.y + b.y}; }
    EMU_INLINE friend NarrowPair operator-(NarrowPair a, NarrowPair b) { return {a.x - b.x, a.y - b.y}; }
    EMU_INLINE friend NarrowPair operator*(NarrowPair a, NarrowPair b) { return {a.x * b.x, a.y * b.y}; }
    EMU_INLINE friend NarrowPair operator/(NarrowPair a, NarrowPair b) { return {a.x / b.x, a.y / b.y}; }
    EMU_INLINE friend NarrowPair operator+(NarrowPair a) { return a; }
    EMU_INLINE friend NarrowPair operator-(NarrowPair a) { return {-a.x, -a.y}; }
    EMU_INLINE friend NarrowPair& operator+=(NarrowPair& a, NarrowPair b) { return a = a + b; }
    EMU_INLINE friend NarrowPair& operator-=(NarrowPair& a, NarrowPair b) { return a = a - b; }
    EMU_INLINE friend NarrowPair& operator*=(NarrowPair& a, NarrowPair b) { return a = a * b; }
    EMU_INLINE friend NarrowPair& operator/=(NarrowPair& a, NarrowPair b) { return a = a / b; }
    EMU_INLINE friend NarrowPair& operator++(NarrowPair& a) { return a += NarrowPair(Number(1), Number(1)); }
    EMU_INLINE friend NarrowPair& operator--(NarrowPair& a) { return a -= NarrowPair(Number(1), Number(1)); }
    EMU_INLINE friend bool operator==(NarrowPair a, NarrowPair b) { return a.x == b.x && a.y == b.y; }
    EMU_INLINE friend bool operator!=(NarrowPair a, NarrowPair b) { return a.x != b.x && a.y != b.y; }
    EMU_INLINE friend bool operator<(NarrowPair a, NarrowPair b) { return a.x < b.x && a.y < b.y; }
    EMU_INLINE friend bool operator>(NarrowPair a, NarrowPair b) { return a.x > b.x && a.y > b.y; }
    EMU_INLINE friend bool operator<=(NarrowPair a, NarrowPair b) { return a.x <= b.x && a.y <= b.y; }
    EMU_INLINE friend bool operator>=(NarrowPair a, NarrowPair b) { return a.x >= b.x && a.y >= b.y; }
};

}  // namespace numbers

using numbers::Narrow;
using numbers::NarrowPair;
using numbers::Raw;
using numbers::RawPair;

}  // namespace emu
