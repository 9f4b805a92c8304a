// The cells: what each four bytes of device memory remember, and what a new access finds there.
#include "races/races.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace emu {

Races races;

namespace {

using Truths = int64_t __attribute__((vector_size(32)));

// One bit per mark of the cell.
inline unsigned bits_of(const Truths& truths) {
#ifdef __AVX2__
    return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<const __m256d&>(truths)));
#else
    unsigned bits = 0;
    for (unsigned i = 0; i < 4; ++i) bits |= truths[i] ? 1u << i : 0;
    return bits;
#endif
}

inline Marks all(Mark value) { return Marks{value, value, value, value}; }

inline Mark first_of(uint32_t segment) { return Mark{segment} << kSegmentShift; }

/// The marks of a cell, sorted by what they are to a new access; a bit each.
struct Sorted {
    unsigned live;       // of a segment that concerns us
    unsigned unordered;  // by numbers alone
    unsigned overlap;    // have a byte in common
    unsigned inside;     // have no byte that the new access has not
    unsigned writes;
    unsigned strong;
};

inline Sorted sort(const Marks& marks, Mark mine, uint32_t since) {
    const Truths segments = Truths(marks & all(kSegmentBits));  // signed: comparisons are cheap
    const Truths block = Truths(all(first_of(races.block)));
    const Truths live = segments >= Truths(all(first_of(since)));
    const Truths of_block = segments >= block;
    const Truths recent = segments >= Truths(all(first_of(races.interval)));
    const Truths own = ((marks ^ all(mine)) & all(kThreadBits)) == Marks{};
    Sorted sorted;
    sorted.live = bits_of(live);
    sorted.unordered = bits_of(live & ((recent & ~own) | ~of_block));
    sorted.overlap = bits_of((marks & all(mine & kByteBits)) != Marks{});
    sorted.inside = bits_of((marks & all(~mine & kByteBits)) == Marks{});
    sorted.writes = bits_of(Truths(marks) < Truths{});
    sorted.strong = bits_of((marks & all(kStrong)) != Marks{});
    return sorted;
}

/// Which mark the new access takes the place of; none when it is not worth one of the others'.
int place_for(const Sorted& sorted, Mark mine) {
    const bool write = mine & kWrite;
    // whoever is unordered with one of these is unordered with the new access too, or ordered after both
    const unsigned implied = ~sorted.unordered & sorted.inside & (write ? ~0u : ~sorted.writes) &
                             (mine & kStrong ? sorted.strong : ~0u);
    const unsigned free = (implied | ~sorted.live) & 0xF;
    if (free) return __builtin_ctz(free);
    // of the readers any two conflict with a writer: keep those of different warps
    const unsigned preferred = 1u << (warp_of(mine) & 3);
    const unsigned reads = ~sorted.writes & 0xF;
    const unsigned candidates = reads ? reads : write ? 0xF : 0;
    if (!candidates) return -1;
    return __builtin_ctz(candidates & preferred ? candidates & preferred : candidates);
}

}  // namespace

namespace {

[[gnu::noinline]] bool compare(Cell& cell, Mark mine, uint32_t since, const Access& access) {
    Sorted sorted = sort(cell.marks, mine, since);
    unsigned conflicts = sorted.unordered & sorted.overlap & (mine & kWrite ? 0xF : sorted.writes);
    if (mine & kStrong) conflicts &= ~sorted.strong;
    bool raced = false;
    for (; conflicts; conflicts &= conflicts - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctz(conflicts));
        if (is_ordered_before(cell.marks[i])) {
            sorted.unordered &= ~(1u << i);
        } else if (!raced) {
            report_race(cell.marks[i], access);
            raced = true;
        }
    }
    const int place = place_for(sorted, mine);
    if (place >= 0) cell.marks[place] = mine;
    return raced;
}

}  // namespace

bool remember(Cell& cell, Mark mine, uint32_t since, const Access& access) {
    const Truths segments = Truths(cell.marks & all(kSegmentBits));
    const unsigned live = bits_of(segments >= Truths(all(first_of(since))));
    if (!live) {
        cell.marks[0] = mine;
        return false;
    }
    const bool read_only = !(mine & kWrite) && !(bits_of(Truths(cell.marks) < Truths{}) & live);
    if (!read_only) return compare(cell, mine, since, access);
    const unsigned same = bits_of(((cell.marks ^ all(mine)) & all(~(kSegmentBits | kPlaceBits))) == Marks{});
    const unsigned free = ((same & bits_of(segments >= Truths(all(first_of(races.block))))) | ~live) & 0xF;
    if (!free) return compare(cell, mine, since, access);
    cell.marks[__builtin_ctz(free)] = mine;
    return false;
}

}  // namespace emu
