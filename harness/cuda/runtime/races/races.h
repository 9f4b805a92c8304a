// Which accesses could have come in another order: two of them, to the same bytes, one a write, with nothing between
// them that orders them.
//
// A thread's life is cut into segments by what orders it with others: barriers, meetings of lanes, fences. Segment
// numbers only grow, over all threads and blocks (blocks run one after the other), so that "ordered before" is mostly a
// comparison of numbers. What the numbers cannot tell, messages through atomics can (messages.h).
#pragma once

#include <cstdint>

#include "shadow/shadow.h"
#include "threads.h"

namespace emu {

/// An access that a cell remembers, 0 for none; from the highest bit down:
/// write 1, strong 1, bytes of the word 4, segment 24, warp 5, lane 5, place of the instruction in the module 24.
using Mark = uint64_t;

constexpr unsigned kLaneShift = 24, kWarpShift = 29, kSegmentShift = 34, kBytesShift = 58;
constexpr Mark kPlaceBits = (Mark{1} << kLaneShift) - 1;
constexpr Mark kThreadBits = Mark{0x3FF} << kLaneShift;
constexpr Mark kSegmentBits = Mark{0xFFFFFF} << kSegmentShift;
constexpr Mark kByteBits = Mark{0xF} << kBytesShift;
constexpr Mark kStrong = Mark{1} << 62;
constexpr Mark kWrite = Mark{1} << 63;
constexpr uint32_t kLastSegment = 0xFFFFFF;

inline uint32_t segment_of(Mark mark) { return static_cast<uint32_t>((mark & kSegmentBits) >> kSegmentShift); }
inline unsigned lane_of(Mark mark) { return static_cast<unsigned>(mark >> kLaneShift) & 31; }
inline unsigned warp_of(Mark mark) { return static_cast<unsigned>(mark >> kWarpShift) & 31; }

using Marks = Mark __attribute__((vector_size(32)));

/// What is remembered of four bytes of device memory.
struct Cell {
    Marks marks;
};
constexpr size_t kCellBytes = 4;

/// What a thread knows of others, in segments.
struct Clock {
    Mark identity;         // lane, warp and segment in their places
    uint32_t segment;
    uint32_t met;          // of every lane of its warp: up to this one, ordered before
    bool partial;          // `lanes` tells instead, after a meeting of some
    uint32_t lanes[kWarpLanes];
};

struct Races {
    Clock clocks[kMaxThreads];
    uint32_t latest = 0;    // segment handed out
    uint32_t launch = 1;    // first segments of the launch, of the block, and since its last barrier
    uint32_t block = 1;
    uint32_t interval = 1;
    uint32_t before_interval = 1;  // since the barrier before
    bool unsettled = false; // an access races in a way that is, perhaps, harmless
};
extern Races races;

/// Where the cell of a word is: a line further after each 256, so that a lane that strides by a power of two does not
/// find all its cells in the same few sets of the cache.
constexpr size_t cell_index(size_t word) { return word + word / 256 * 2; }

/// Cells of the arena, by pages that appear with the allocations; of shared memory; of symbols.
constexpr size_t kCellPage = 1 << 20;  // bytes of the arena
constexpr size_t kMaxCellPages = 1 << 14;
extern Cell* arena_cells[kMaxCellPages];
extern Cell* shared_cells;
extern Cell* symbol_cells;

/// Where instructions, by a hash of their place, were last.
constexpr unsigned kStreams = 256;
extern size_t last_offsets[kStreams];

/// Ask for the cell that the same instruction will need some iterations later, if it goes on as it went. Memory is
/// strided through lane by lane, which no hardware foresees.
inline void prefetch_cell(const Cell* cells, size_t offset, const void* pc) {
    constexpr size_t kAhead = 6;
    const auto place = reinterpret_cast<uintptr_t>(pc);
    size_t& last = last_offsets[(place ^ place >> 8) % kStreams];
    const size_t next = offset + kAhead * (offset - last);
    last = offset;
    if (next / kCellPage == offset / kCellPage) {
        __builtin_prefetch(cells + cell_index(next % kCellPage / kCellBytes), 1);
    }
}

/// Look for a race with what the cell remembers, and remember this access. Accesses of segments before `since` are
/// nobody's concern. True when a race was found.
bool remember(Cell& cell, Mark mine, uint32_t since, const Access& access);
void report_race(Mark other, const Access& access);
/// The access that raced has been done by now, and `next` follows, if any: say whether it changed anything.
void settle_race(const Access* next = nullptr);

/// Whether everything that `mark` tells is ordered before what the running thread does now.
bool is_ordered_before(Mark mark);

/// Cells for what the arena, the symbols and shared memory hold now.
void make_cells();
void forget_cells();

void races_launch(const Launch& launch);
void races_block(const Block& block);
void races_barrier(const Block& block);
/// The lanes in `named` have met; of those, the lanes in `present` still run.
void races_meeting(const Warp& warp, uint32_t named, uint32_t present);
/// The running thread goes on in a segment of its own.
void next_segment(Clock& clock);
/// The linear index of the block that segment belongs to, in the running launch.
uint64_t block_of(uint32_t segment);
/// That block's first segment.
uint32_t block_start_of(uint32_t segment);

[[gnu::always_inline]] inline bool is_remembered(const Cell& cell, Mark mine) {
    const Marks difference = (cell.marks ^ mine) >> kLaneShift;
    const auto equal = difference == Marks{};
    return (equal[0] | equal[1] | equal[2] | equal[3]) != 0;
}

[[gnu::always_inline]] inline Mark mark_of(const Access& access) {
    const Clock& clock = races.clocks[running_thread->linear];
    return clock.identity | (access.write ? kWrite : 0) | (access.strong ? kStrong : 0) |
           ((reinterpret_cast<uintptr_t>(access.pc) - module_begin) & kPlaceBits);
}

/// An access to the bytes at `offset` of the memory that `cells` remember.
[[gnu::always_inline]] inline void check_race(Cell* cells, size_t offset, uint32_t since, const Access& access) {
    const Mark mine = mark_of(access);
    size_t word = offset / kCellBytes;
    unsigned skip = offset % kCellBytes;
    for (unsigned left = access.bytes; left > 0; ++word) {
        const unsigned here = left < kCellBytes - skip ? left : static_cast<unsigned>(kCellBytes - skip);
        const Mark mark = mine | Mark{((1u << here) - 1) << skip} << kBytesShift;
        Cell& cell = cells[cell_index(word)];
        if (!is_remembered(cell, mark) && remember(cell, mark, since, access)) return;
        left -= here;
        skip = 0;
    }
}

}  // namespace emu
