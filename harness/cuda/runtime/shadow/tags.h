// What a thread gets in the place of unwritten bytes: values that it would hardly make by itself.
#pragma once

#include <cstdint>

namespace emu {

// the top bytes of a signalling NaN as float and bfloat16, and of its second half as half
constexpr uint32_t kTag = 0xFF80FD00, kTagBits = 0xFFC0FF00, kQuiet = 0x00400000;
// of the upper word of one as double
constexpr uint32_t kUpperTag = 0xFFF0FD00, kUpperTagBits = 0xFFF8FF00, kUpperQuiet = 0x00080000;
// numbers between 1 and 2 in their place
constexpr uint32_t kFinite = 0x3F80FD00, kUpperFinite = 0x3FF0FD00;

inline uint32_t usual_tag(unsigned bytes, bool upper, uint32_t number) {
    const uint32_t low = number & 0xFF, high = number >> 8;
    // a byte is none that counts or truth values take; a half word is a signalling NaN as half, or as bfloat16
    if (bytes == 1) return 0x81 + low % 0x7E;
    if (bytes == 2) return number & 1 ? 0xFD00 | low : 0xFF81 + low % 0x3F;
    return upper ? kUpperTag | (1 + high % 7) << 16 | low : kTag | (1 + high % 0x3F) << 16 | low;
}

// Other bits wherever the usual ones are likely to matter: the sign, and the lowest ones.
inline uint32_t finite_tag(unsigned bytes, bool upper, uint32_t number) {
    const uint32_t low = ~number & 0xFF, high = number >> 8;
    if (bytes == 1) return 0x21 + low % 0x5E;
    if (bytes == 2) return number & 1 ? 0x3C00 | low : 0x3F81 + low % 0x3F;
    return upper ? kUpperFinite | (1 + high % 7) << 16 | low : kFinite | (1 + high % 0x3F) << 16 | low;
}

/// Whether the word may be one of the usual ones, or of the finite ones where they are in use, too.
inline bool is_tag(uint32_t value, bool finite) {
    if ((value & kTagBits) == kTag || (value & kUpperTagBits) == kUpperTag) return true;
    return finite && ((value & kTagBits) == kFinite || (value & kUpperTagBits) == kUpperFinite);
}

/// The signalling NaN that arithmetic may have made this quiet one of; 0 where it is none.
inline uint32_t made_quiet_of(uint32_t value) {
    if ((value & kTagBits) == (kTag | kQuiet)) return value & ~kQuiet;
    if ((value & kUpperTagBits) == (kUpperTag | kUpperQuiet)) return value & ~kUpperQuiet;
    return 0;
}

}  // namespace emu
