// Warp collectives, all on emu::exchange: every lane of the mask brings a value, then each reads what it needs.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulator.h"

namespace emu {

inline EMU_UNINSTRUMENTED unsigned lane() { return linear_thread() & 31u; }

/// Lane `source`'s deposit; all bits set, as poisoned memory has, when it took no part.
template <class T>
EMU_UNINSTRUMENTED T deposit_of(const Meeting& meeting, unsigned source, const char* what, Site site) {
    T value;
    if (meeting.present >> source & 1u) {
        std::memcpy(static_cast<void*>(&value), meeting.deposits + source * sizeof(T), sizeof(T));
    } else {
        inactive_lane(what, source, site);
        std::memset(static_cast<void*>(&value), 0xFF, sizeof(T));
    }
    return value;
}

/// A shuffle: `source(lane, first, last)` is the lane to read from, where the caller's segment is first..last; a lane
/// past the segment's end (or before its start, for `up`) leaves the caller its own value.
template <class T, class Source>
EMU_UNINSTRUMENTED inline T shuffle(unsigned mask, T value, int width, const char* what, Site site, Source source) {
    static_assert(std::is_trivially_destructible_v<T> && sizeof(T) <= 16, "a shuffle takes a value of 1 to 16 bytes");
    const Meeting meeting = exchange(mask, &value, sizeof(T), what, site);
    const unsigned own = meeting.lane;
    const unsigned first = own & ~static_cast<unsigned>(width - 1);
    const int from = source(static_cast<int>(own), static_cast<int>(first), static_cast<int>(first) + width - 1);
    return from < 0 ? value : deposit_of<T>(meeting, static_cast<unsigned>(from), what, site);
}

/// Combine the deposits of all lanes that took part.
template <class T, class Combine>
EMU_UNINSTRUMENTED inline T combined(unsigned mask, T value, const char* what, Site site, T start, Combine combine) {
    const Meeting meeting = exchange(mask, &value, sizeof(T), what, site);
    for (unsigned other = 0; other < 32; ++other) {
        if (meeting.present >> other & 1u) start = combine(start, deposit_of<T>(meeting, other, what, site), other);
    }
    return start;
}

}  // namespace emu

template <class T>
EMU_OUTLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32, emu::Site site = EMU_HERE) {
    return emu::shuffle(mask, value, width, "__shfl_sync", site, [=](int, int first, int) EMU_UNINSTRUMENTED {
        return first + (source & (width - 1));
    });
}

template <class T>
EMU_OUTLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, emu::Site site = EMU_HERE) {
    return emu::shuffle(mask, value, width, "__shfl_up_sync", site, [=](int own, int first, int) EMU_UNINSTRUMENTED {
        const int from = own - static_cast<int>(delta & 31u);
        return from >= first ? from : -1;
    });
}

template <class T>
EMU_OUTLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, emu::Site site = EMU_HERE) {
    return emu::shuffle(mask, value, width, "__shfl_down_sync", site, [=](int own, int, int last) EMU_UNINSTRUMENTED {
        const int from = own + static_cast<int>(delta & 31u);
        return from <= last ? from : -1;
    });
}

template <class T>
EMU_OUTLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, emu::Site site = EMU_HERE) {
    return emu::shuffle(mask, value, width, "__shfl_xor_sync", site, [=](int own, int, int last) EMU_UNINSTRUMENTED {
        const int from = own ^ (lanes & 31);
        return from <= last ? from : -1;
    });
}

EMU_OUTLINE inline unsigned __ballot_sync(unsigned mask, int predicate, emu::Site site = EMU_HERE) {
    return emu::combined(mask, static_cast<unsigned>(predicate != 0), "__ballot_sync", site, 0u,
                         [](unsigned all, unsigned bit, unsigned of) EMU_UNINSTRUMENTED { return all | bit << of; });
}

EMU_OUTLINE inline int __all_sync(unsigned mask, int predicate, emu::Site site = EMU_HERE) {
    return emu::combined(mask, static_cast<int>(predicate != 0), "__all_sync", site, 1,
                         [](int all, int one, unsigned) EMU_UNINSTRUMENTED { return all & one; });
}

EMU_OUTLINE inline int __any_sync(unsigned mask, int predicate, emu::Site site = EMU_HERE) {
    return emu::combined(mask, static_cast<int>(predicate != 0), "__any_sync", site, 0,
                         [](int any, int one, unsigned) EMU_UNINSTRUMENTED { return any | one; });
}

EMU_OUTLINE inline int __uni_sync(unsigned mask, int predicate, emu::Site site = EMU_HERE) {
    const int own = predicate != 0;
    return emu::combined(mask, own, "__uni_sync", site, 1,
                         [=](int same, int one, unsigned) EMU_UNINSTRUMENTED { return same & (one == own); });
}

template <class T>
EMU_OUTLINE unsigned __match_any_sync(unsigned mask, T value, emu::Site site = EMU_HERE) {
    const emu::Meeting meeting = emu::exchange(mask, &value, sizeof(T), "__match_any_sync", site);
    unsigned same = 0;
    for (unsigned other = 0; other < 32; ++other) {
        const bool present = meeting.present >> other & 1u;
        if (present && std::memcmp(meeting.deposits + other * sizeof(T), &value, sizeof(T)) == 0) same |= 1u << other;
    }
    return same;
}

template <class T>
EMU_OUTLINE unsigned __match_all_sync(unsigned mask, T value, int* all_equal, emu::Site site = EMU_HERE) {
    const emu::Meeting meeting = emu::exchange(mask, &value, sizeof(T), "__match_all_sync", site);
    unsigned same = 0;
    for (unsigned other = 0; other < 32; ++other) {
        const bool present = meeting.present >> other & 1u;
        if (present && std::memcmp(meeting.deposits + other * sizeof(T), &value, sizeof(T)) == 0) same |= 1u << other;
    }
    *all_equal = same == meeting.present;
    return *all_equal ? meeting.present : 0u;
}

// __reduce_add_sync and its like: the first lane's value starts the reduction
#define EMU_REDUCE(name, T, expression) \
    EMU_OUTLINE inline T name(unsigned mask, T value, emu::Site site = EMU_HERE) { \
        const emu::Meeting meeting = emu::exchange(mask, &value, sizeof value, #name, site); \
        for (unsigned other = 0; other < 32; ++other) { \
            if (other == meeting.lane || !(meeting.present >> other & 1u)) continue; \
            const T a = value; \
            const T b = emu::deposit_of<T>(meeting, other, #name, site); \
            value = (expression); \
        } \
        return value; \
    }
EMU_REDUCE(__reduce_add_sync, unsigned, a + b)
EMU_REDUCE(__reduce_add_sync, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
EMU_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
EMU_REDUCE(__reduce_min_sync, int, a < b ? a : b)
EMU_REDUCE(__reduce_max_sync, unsigned, a < b ? b : a)
EMU_REDUCE(__reduce_max_sync, int, a < b ? b : a)
EMU_REDUCE(__reduce_and_sync, unsigned, a & b)
EMU_REDUCE(__reduce_or_sync, unsigned, a | b)
EMU_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef EMU_REDUCE
