// __activemask(): which lanes of a warp run together.
#pragma once

#include <cstdint>

#include "emulator.h"

namespace emu {

/// Lanes of one warp that asked at one place: others may come while it is open.
struct Gathering {
    uint32_t lanes = 0;
    uint32_t told = 0;
    bool open = false;
    Index block{};
    unsigned warp = 0;
    Site site{};

    EMU_UNINSTRUMENTED bool takes(Index other, unsigned other_warp, Site place) const {
        return open && block.x == other.x && block.y == other.y && block.z == other.z && warp == other_warp &&
               site.file == place.file && site.line == place.line;
    }
};

/// The gathering to join, or a free one; null when all are in use. One that already has the caller is left over from a
/// launch that ended early.
EMU_OUTLINE inline Gathering* gathering_at(Index block, unsigned warp, Site site, uint32_t self) {
    static Gathering gatherings[64];
    Gathering* free = nullptr;
    for (Gathering& candidate : gatherings) {
        if (candidate.takes(block, warp, site)) {
            if (!(candidate.lanes & self)) return &candidate;
            candidate = Gathering{};
        }
        if (candidate.lanes == candidate.told) free = &candidate;
    }
    if (free != nullptr) *free = Gathering{0, 0, true, block, warp, site};
    return free;
}

/// The lanes that reach `site` while the others run until they wait or end. Any set with the caller in it is legal on
/// a device; this one is the likeliest, and all in it are told the same.
EMU_OUTLINE inline uint32_t lanes_together(Site site) {
    constexpr int turns = 16;  // a schedule may take a few away from the lanes still to come
    const unsigned thread = linear_thread();
    const uint32_t self = 1u << (thread & 31u);
    Gathering* mine = gathering_at({emu_block_x(), emu_block_y(), emu_block_z()}, thread / 32, site, self);
    if (mine == nullptr) return self;
    mine->lanes |= self;
    for (int i = 0; mine->open && mine->lanes != live_lanes() && i < turns; ++i) yield();
    mine->open = false;
    mine->told |= self;
    return mine->lanes;
}

}  // namespace emu

inline unsigned __activemask(emu::Site site = EMU_HERE) { return emu::lanes_together(site); }
