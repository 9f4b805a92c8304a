// The values of a warp's lanes side by side: what the collectives of cooperative groups are made of.
#pragma once

#include <cstring>

#include "warp.h"

namespace emu {

/// Lane l's value at values[l], for the lanes in `present`.
template <class T>
struct Gathered {
    alignas(T) unsigned char bytes[32][sizeof(T)];
    uint32_t present;

    EMU_UNINSTRUMENTED T from(unsigned lane, const char* what, Site site) const {
        T value;
        if (!(present >> lane & 1u)) inactive_lane(what, lane, site);
        std::memcpy(static_cast<void*>(&value), bytes[lane], sizeof(T));
        return value;
    }
};

/// What every lane of `mask` brings; a value of any size, in pieces that a meeting can carry.
template <class T>
EMU_UNINSTRUMENTED Gathered<T> gathered(uint32_t mask, const T& value, const char* what, Site site) {
    constexpr unsigned piece = 16;
    Gathered<T> result;
    for (auto& value : result.bytes) {
        for (unsigned char& byte : value) byte = 0xFF;
    }
    const auto* mine = reinterpret_cast<const unsigned char*>(&value);
    for (unsigned start = 0; start < sizeof(T); start += piece) {
        const unsigned bytes = sizeof(T) - start < piece ? sizeof(T) - start : piece;
        const Meeting meeting = exchange(mask, mine + start, bytes, what, site);
        result.present = meeting.present;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (!(meeting.present >> lane & 1u)) continue;
            // no memcpy: of a size that is not constant it may be the author's, which tells of its accesses
            for (unsigned i = 0; i < bytes; ++i) result.bytes[lane][start + i] = meeting.deposits[lane * bytes + i];
        }
    }
    return result;
}

/// The lane that is number `rank` in `mask`.
inline EMU_UNINSTRUMENTED unsigned lane_at(uint32_t mask, unsigned rank) {
    while (rank-- > 0) mask &= mask - 1;
    return static_cast<unsigned>(__builtin_ctz(mask));
}

/// The bits of `lanes` that are in `mask`, moved together: bit r is that of the lane at rank r.
inline EMU_UNINSTRUMENTED uint32_t packed(uint32_t mask, uint32_t lanes) {
    uint32_t result = 0;
    for (unsigned rank = 0; mask != 0; ++rank, mask &= mask - 1) {
        if (lanes & mask & -mask) result |= 1u << rank;
    }
    return result;
}

}  // namespace emu
