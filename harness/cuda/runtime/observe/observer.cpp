// What the core tells (observer.h), passed on to the shadow, the races and the counters.
#include <cstdlib>
#include <cstring>

#include "observe/hooks.h"
#include "races/messages.h"
#include "shadow/copies.h"
#include "shadow/shares.h"

namespace emu {

namespace {

constexpr uint64_t kDefaultLimit = 4'000'000'000;

uint64_t access_limit() {
    const char* text = std::getenv("EMU_ACCESS_LIMIT");
    const uint64_t limit = text ? std::strtoull(text, nullptr, 10) : 0;
    return limit ? limit : kDefaultLimit;
}

}  // namespace

void on_start(unsigned) {
    find_module();
    unwritten_start();
    hooks.limit = access_limit();
}

void on_launch(Launch& launch) {
    if (!mode) return;
    hooks.accesses = hooks.blocks = 0;
    shadow_launch();
    if (mode & EMU_CHECK) {
        make_cells();
        races_launch(launch);
        unwritten_launch();
        shares_launch();
    }
    if (mode & EMU_COUNT) counters_launch(launch);
}

void on_launch_end(Launch& launch) {
    if (mode & EMU_COUNT) counters_launch_end(launch);
}

bool on_blocks_left(Launch& launch, uint64_t next, uint64_t count, const std::function<bool(uint64_t, uint64_t)>& run) {
    return run_in_shares(launch, next, count, run);
}

void on_block(Block& block) {
    if (!mode) return;
    ++hooks.blocks;
    std::memset(hooks.volatile_reads, 0, block.thread_count * sizeof *hooks.volatile_reads);
    shadow_block(block);
    if (!(mode & EMU_CHECK)) return;
    if (!shared_cells) make_cells();
    races_block(block);
}

void on_block_end(Block& block) {
    if (races.unsettled) settle_race();
    if (holds_unwritten) unwritten_block_end(block);
    if (mode & EMU_COUNT) counters_barrier(block);
}

void on_aside(Block& block, std::vector<unsigned char>& kept) {
    if (!mode) return;
    if (races.unsettled) settle_race();
    if (holds_unwritten) unwritten_aside(block);
    kept = shared_written();
}

void on_resume(Block& block, const std::vector<unsigned char>& kept) {
    if (!mode) return;
    std::memset(hooks.volatile_reads, 0, block.thread_count * sizeof *hooks.volatile_reads);
    restore_shared_written(kept);
    if (!(mode & EMU_CHECK)) return;
    races_block(block);
    unwritten_resume(block);
}

void on_cut_off() {
    if (mode & EMU_CHECK) unwritten_cut_off();
}

void on_grid_barrier(Launch& launch) {
    if (mode & EMU_CHECK) races_launch(launch);
}

void on_shared(Block& block, unsigned char* address, size_t bytes, const char* name) {
    if (mode) shadow_shared(block, address, bytes, name);
}

void on_barrier(Block& block) {
    if (races.unsettled) settle_race();
    if (holds_unwritten) settle_unwritten();
    if (mode & EMU_CHECK) races_barrier(block);
    if (mode & EMU_COUNT) counters_barrier(block);
}

void on_warp_meeting(Thread& thread, uint32_t named, uint32_t present) {
    if (races.unsettled) settle_race();
    if (holds_unwritten) settle_unwritten();
    if (mode & EMU_CHECK) races_meeting(*thread.warp, named, present);
    if (mode & EMU_COUNT) counters_meeting(*thread.warp, present);
}

void on_exit(Thread&) {
    if (races.unsettled) settle_race();
    if (holds_unwritten) settle_unwritten();
}

void on_atomic(void* address, unsigned bytes, const void* pc) {
    if (mode) observe_atomic(address, bytes, true, true, pc);
}

void on_access(const void* address, unsigned bytes, bool write, const void* pc) {
    if (!mode) return;
    const Access access{reinterpret_cast<uintptr_t>(address), bytes, write, false, false, false, true, pc, true};
    may_preempt();
    if (bytes & (bytes - 1) || bytes > 16) observe_range(address, bytes, write, pc);
    else observe(access);
}

void on_fence(Scope scope) {
    if (mode & EMU_CHECK) messages_fence(scope);
}

}  // namespace emu
