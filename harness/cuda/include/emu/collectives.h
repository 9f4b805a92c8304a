// What the block-wide and warp-wide collectives of CUB are made of. They meet and touch shared memory at the author's
// line, so that storage that is used again without a barrier between is a race there.
#pragma once

#include <type_traits>

#include "gather.h"
#include "memory.h"

namespace emu {

/// Shared memory for objects that nobody constructs.
template <class T, unsigned Count>
struct Room {
    alignas(T) unsigned char bytes[Count * sizeof(T)];
    EMU_INLINE T& operator[](unsigned i) { return reinterpret_cast<T*>(bytes)[i]; }
};

/// Storage of a collective that was given none: one of its type in each block.
template <class Storage>
EMU_UNINSTRUMENTED Storage& own_storage(const char* name) {
    static SharedSlot slot{sizeof(Storage), alignof(Storage), name};
    return *static_cast<Storage*>(shared(slot));
}

/// What a thread gets that the collective promises nothing: all bits set, as poisoned memory has, where T is plain data.
template <class T>
EMU_UNINSTRUMENTED T undefined(T value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
        auto* bytes = reinterpret_cast<unsigned char*>(&value);
        for (unsigned i = 0; i < sizeof(T); ++i) bytes[i] = 0xFF;
    }
    return value;
}

inline EMU_UNINSTRUMENTED unsigned threads_of_block() {
    return emu_block_dim_x() * emu_block_dim_y() * emu_block_dim_z();
}

/// A collective for `threads` threads, of which `needed` take part, ends the launch where the block has fewer, or the
/// caller is none of them.
inline EMU_UNINSTRUMENTED void expect_block(unsigned threads, unsigned needed, const char* what, Site site) {
    if (threads_of_block() < needed) trap("trap", what, site);
    if (linear_thread() >= threads) trap("trap", what, site);
}

/// The lanes of the caller's warp among the first `threads` threads of the block.
inline EMU_UNINSTRUMENTED uint32_t lanes_among(unsigned threads) {
    const unsigned first = linear_thread() & ~31u;
    const unsigned count = threads > first ? threads - first : 0;
    return count >= 32 ? ~0u : (1u << count) - 1u;
}

/// The lanes of the caller's group where a warp is cut into groups of `size`.
inline EMU_UNINSTRUMENTED uint32_t lanes_of_group(unsigned size) {
    const unsigned first = lane() / size * size;
    return (size >= 32 ? ~0u : (1u << size) - 1u) << first;
}

/// The value of the lane at `rank`.
template <class T>
EMU_OUTLINE T value_of(unsigned rank, uint32_t lanes, const T& value, const char* what, Site site) {
    return gathered(lanes, value, what, site).from(lane_at(lanes, rank), what, site);
}

/// The values of the first `count` lanes of `lanes` combined as shuffles would, neighbours first.
template <class T, class Operation>
EMU_OUTLINE T reduced(uint32_t lanes, unsigned count, const T& value, Operation& operation, const char* what, Site site) {
    const auto all = gathered(lanes, value, what, site);
    T partial[32] = {};
    for (unsigned rank = 0; rank < count; ++rank) partial[rank] = all.from(lane_at(lanes, rank), what, site);
    for (unsigned step = 1; step < count; step *= 2) {
        for (unsigned rank = 0; rank + step < count; rank += 2 * step) {
            partial[rank] = operation(partial[rank], partial[rank + step]);
        }
    }
    return count ? partial[0] : value;
}

/// A lane's share of a scan: what comes before its own value, if anything does, and all up to it.
template <class T>
struct Scanned {
    T before;
    T up_to;
    bool any;
};

template <class T, class Operation>
EMU_OUTLINE Scanned<T> scanned(uint32_t lanes, const T& value, Operation& operation, const char* what, Site site) {
    const auto all = gathered(lanes, value, what, site);
    const unsigned own = static_cast<unsigned>(__builtin_popcount(lanes & ((1u << lane()) - 1u)));
    T sum = value;
    for (unsigned rank = 0; rank < own; ++rank) {
        const T one = all.from(lane_at(lanes, rank), what, site);
        sum = rank ? static_cast<T>(operation(sum, one)) : one;
    }
    return {sum, own ? static_cast<T>(operation(sum, value)) : value, own != 0};
}

}  // namespace emu
