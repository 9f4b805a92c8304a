#include "schedule/grid.h"

#include <algorithm>
#include <vector>

#include "cuda_runtime_api.h"
#include "memory/shared.h"
#include "observe/observer.h"
#include "run/state.h"
#include "schedule/scheduler.h"

namespace emu {

namespace {

/// A block that waits for the others.
struct Aside {
    Block block;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<SavedStack> stacks;
    std::vector<unsigned char> shared;
    std::vector<unsigned char> watched;  // what observers keep of it
    Site site;                           // where it waits
    unsigned last;                       // the thread that arrived last
};

std::vector<Aside>& aside() {
    static auto* instance = new std::vector<Aside>;
    return *instance;
}

unsigned last_to_arrive = 0;
Site arrived_at{nullptr, 0};

void bring_back(Block& block, const Aside& kept) {
    Thread* threads = block.threads;
    Warp* warps = block.warps;
    block = kept.block;
    std::copy(kept.threads.begin(), kept.threads.end(), threads);
    std::copy(kept.warps.begin(), kept.warps.end(), warps);
    scheduler().stacks().bring_back(kept.stacks);
    restore_shared(kept.shared);
    on_resume(block, kept.watched);
    block.at_grid = 0;
    for (unsigned w = 0; w < block.warp_count; ++w) Scheduler::wake(block.warps[w], block.warps[w].live());
}

// Blocks that ended can arrive no more.
void report_missing(const Aside& waiting, uint64_t blocks, size_t arrived) {
    Defect defect;
    defect.kind = "deadlock";
    defect.text = std::to_string(arrived) + " blocks of the grid wait in this_grid().sync() for " +
                  std::to_string(blocks - arrived) + " that have ended";
    defect.site = waiting.site;
    defect.placed = true;
    defect.block = waiting.block.index;
    defect.thread = waiting.threads[waiting.last].index;
    report(defect);
    if (!state().sticky_error) state().sticky_error = cudaErrorLaunchTimeout;
}

}  // namespace

void set_aside(Block& block) {
    Aside kept{block, {}, {}, {}, {}, {}, arrived_at, last_to_arrive};
    for (unsigned i = 0; i < block.thread_count; ++i) {
        const Thread& thread = block.threads[i];
        if (thread.stack) kept.stacks.push_back(save(*thread.stack));
    }
    for (unsigned w = 0; w < block.warp_count; ++w) block.warps[w].hold_nothing();  // all has been read
    kept.threads.assign(block.threads, block.threads + block.thread_count);
    kept.warps.assign(block.warps, block.warps + block.warp_count);
    kept.shared = saved_shared();
    on_aside(block, kept.watched);
    scheduler().stacks().renew();
    aside().push_back(std::move(kept));
}

bool run_aside(Block& block, uint64_t blocks) {
    bool finished = true;
    while (finished && !aside().empty()) {
        if (aside().size() != blocks) {
            report_missing(aside().front(), blocks, aside().size());
            return false;
        }
        std::vector<Aside> waiting;
        waiting.swap(aside());
        on_grid_barrier(*block.launch);
        for (Aside& kept : waiting) {
            running_block = &block;
            bring_back(block, kept);
            finished = scheduler().resume(block, block.threads[kept.last]);
            if (!finished) break;
            if (block.at_grid) set_aside(block);
            else on_block_end(block);
            kept = Aside{};
        }
    }
    return finished;
}

void forget_aside() {
    if (aside().empty()) return;
    on_cut_off();
    aside().clear();
}

bool is_cooperative() { return running_block && running_block->launch->cooperative; }

void grid_barrier(Site site) {
    if (!running_thread) unsupported("this_grid().sync() outside of a kernel", site);
    Launch& launch = *running_block->launch;
    if (!launch.cooperative) {
        trap("trap", "this_grid().sync() in a kernel that was not launched by cudaLaunchCooperativeKernel", site);
    }
    const uint64_t blocks = static_cast<uint64_t>(launch.grid.x) * launch.grid.y * launch.grid.z;
    barrier(-3, Vote::None, 0, site);
    if (blocks == 1) return;
    if (!kStacksCanBeSaved) unsupported("this_grid().sync() with more than one block", site);
    Thread& thread = *running_thread;
    Block& block = *thread.block;
    thread.wait = Wait{Wait::Barrier, "this_grid().sync()", 0, -3, site};
    if (++block.at_grid == block.live) {
        last_to_arrive = thread.linear;
        arrived_at = site;
        Scheduler::sleep(thread);
        scheduler().suspend();
    } else {
        Scheduler::wait();
    }
    thread.wait.kind = Wait::None;
}

}  // namespace emu
