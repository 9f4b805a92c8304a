#include "run/block_sample.h"

#include <algorithm>
#include <set>

#include "observe/observer.h"
#include "run/state.h"
#include "schedule/scheduler.h"

namespace emu {

uint64_t block_budget = 0;

namespace {

uint64_t blocks_of(const Index& grid) { return static_cast<uint64_t>(grid.x) * grid.y * grid.z; }

}  // namespace

bool is_too_large(const Index& grid) { return block_budget && blocks_of(grid) > block_budget; }

std::vector<uint64_t> block_sample(const Launch& launch) {
    if (!is_too_large(launch.grid)) return {};
    const uint64_t blocks = blocks_of(launch.grid);
    std::set<uint64_t> drawn{0};
    if (block_budget > 1) drawn.insert(blocks - 1);
    Random random(state().seed << 32 ^ launch.ordinal);
    while (drawn.size() < block_budget) drawn.insert(random.below(blocks));
    return {drawn.begin(), drawn.end()};
}

void note_sample(uint64_t run, uint64_t blocks) {
    State& s = state();
    s.blocks_run += run;
    s.blocks_launched += blocks;
    if (run == blocks) return;
    s.incomplete = true;
    each_allocation([](Allocation& a, void*) { if (!a.freed) on_host_write(a.address, a.bytes); }, nullptr);
}

}  // namespace emu
