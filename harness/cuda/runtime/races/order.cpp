// Segments and clocks: what barriers and meetings of lanes order.
#include <algorithm>
#include <vector>

#include "races/messages.h"
#include "races/races.h"

namespace emu {

namespace {

struct BlockStart {
    uint32_t segment;
    uint64_t block;
};
std::vector<BlockStart>& block_starts() {
    static auto* instance = new std::vector<BlockStart>;
    return *instance;
}

BlockStart start_of(uint32_t segment) {
    const auto& starts = block_starts();
    auto after = std::upper_bound(starts.begin(), starts.end(), segment,
                                  [](uint32_t s, const BlockStart& start) { return s < start.segment; });
    return after == starts.begin() ? BlockStart{0, 0} : *std::prev(after);
}

Mark identity_of(unsigned linear, uint32_t segment) {
    return Mark{linear} << kLaneShift | Mark{segment} << kSegmentShift;
}

void enter(unsigned linear, uint32_t segment) {
    Clock& clock = races.clocks[linear];
    clock.segment = segment;
    clock.identity = identity_of(linear, segment);
}

uint32_t known(const Clock& clock, unsigned lane) { return clock.partial ? clock.lanes[lane] : clock.met; }

// All threads go on in a new segment, with everything before it behind them.
void cut(unsigned threads) {
    const uint32_t segment = ++races.latest;
    races.before_interval = races.interval;
    races.interval = segment;
    for (unsigned i = 0; i < threads; ++i) {
        enter(i, segment);
        races.clocks[i].met = segment - 1;
        races.clocks[i].partial = false;
    }
}

// Segment numbers have run out: forget what was remembered under the old ones.
void start_over(const Block& block) {
    if (in_share) give_up_share();
    forget_cells();
    messages_launch();
    races.latest = 0;
    races.launch = races.block = races.interval = 1;
    cut(block.thread_count);
    block_starts().assign(1, BlockStart{1, block.linear});
}

void make_room(const Block& block) {
    if (races.latest >= kLastSegment - 1) start_over(block);
}

void meet_partly(const Warp& warp, uint32_t named, uint32_t present) {
    const unsigned base = warp.number * kWarpLanes;
    uint32_t joined[kWarpLanes] = {};
    for (uint32_t left = named; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(left));
        const Clock& clock = races.clocks[base + lane];
        for (unsigned l = 0; l < kWarpLanes; ++l) joined[l] = std::max(joined[l], known(clock, l));
        joined[lane] = clock.segment;
    }
    const uint32_t segment = ++races.latest;
    for (uint32_t left = present; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(left));
        Clock& clock = races.clocks[base + lane];
        std::copy_n(joined, kWarpLanes, clock.lanes);
        clock.partial = true;
        clock.met = *std::max_element(joined, joined + kWarpLanes);
        enter(base + lane, segment);
    }
}

void meet_fully(const Warp& warp) {
    const uint32_t met = races.latest;
    const uint32_t segment = ++races.latest;
    for (unsigned linear = warp.number * kWarpLanes, end = linear + kWarpLanes; linear < end; ++linear) {
        enter(linear, segment);
        races.clocks[linear].met = met;
        races.clocks[linear].partial = false;
    }
}

}  // namespace

void races_launch(const Launch&) {
    block_starts().clear();
    races.launch = races.latest + 1;
    messages_launch();
}

void races_block(const Block& block) {
    make_room(block);
    cut(block.thread_count);
    races.block = races.before_interval = races.interval;
    block_starts().push_back(BlockStart{races.block, block.linear});
    messages_block(block);
}

void races_barrier(const Block& block) {
    make_room(block);
    messages_barrier(block);
    cut(block.thread_count);
}

void races_meeting(const Warp& warp, uint32_t named, uint32_t present) {
    make_room(*warp.block);
    messages_meeting(warp, present);
    // a lane that the mask leaves out is ordered with nobody, also when it has left the kernel
    if (warp.exists & ~named) meet_partly(warp, named, present);
    else meet_fully(warp);
}

void next_segment(Clock& clock) {
    if (races.latest <= clock.segment) {
        make_room(*running_block);
        ++races.latest;
    }
    enter(running_thread->linear, races.latest);
}

bool is_ordered_before(Mark mark) {
    const uint32_t segment = segment_of(mark);
    if (segment >= races.block && warp_of(mark) == running_thread->warp->number &&
        segment <= known(races.clocks[running_thread->linear], lane_of(mark))) {
        return true;
    }
    return is_covered(mark);
}

uint64_t block_of(uint32_t segment) { return start_of(segment).block; }
uint32_t block_start_of(uint32_t segment) { return start_of(segment).segment; }

}  // namespace emu
