// What instrumented code calls before each of its accesses, and what becomes of it in each mode.
#pragma once

#include "counters/counters.h"
#include "observe/observer.h"
#include "races/races.h"
#include "schedule/stacks.h"
#include "shadow/shadow.h"
#include "shadow/unwritten.h"

namespace emu {

/// A plain write, and which access it was.
struct LastWrite {
    uintptr_t address;
    size_t bytes;
    uint64_t number;
};

struct Hooks {
    uint64_t accesses = 0;  // of the running launch
    uint64_t limit = 0;     // more of them are a runaway
    uint64_t blocks = 0;    // of the launch that have begun
    uint64_t spins = 0;     // one after the other, by whichever threads
    uint64_t last_spin = 0; // which access it was
    LastWrite last_write{}; // of the running launch
    unsigned volatile_reads[kMaxThreads];
};
extern Hooks hooks;

[[noreturn]] void report_runaway();
/// The last access may have been one of a waiting loop: when nothing else happens any more, nobody will end it.
void note_spin(const Access& access);
/// Anything but the arena, shared memory and the thread's own stack.
void observe_elsewhere(const Access& access);
void observe_on_host(const Access& access);
void watch_copy(uint64_t before, size_t bytes);
/// An access whose size or alignment is none of the hardware's.
void observe_range(const void* address, size_t bytes, bool write, const void* pc);
/// A volatile access: it may wait for others, and pass messages.
void observe_volatile(Access access);
void observe_atomic(const void* address, unsigned bytes, bool takes, bool posts, const void* pc);

[[gnu::always_inline]] inline void observe_arena(const Access& access) {
    const size_t offset = shadow().arena.offset(access.address);
    if (mode & EMU_CHECK) {
        if (!check_arena(access)) return;
        Cell* cells = arena_cells[offset / kCellPage];
        if (cells) {
            prefetch_cell(cells, offset, access.pc);
            check_race(cells, offset % kCellPage, races.launch, access);
        }
    }
    if (mode & EMU_COUNT) count_global(offset, access.bytes, traffic_of(access), access.pc);
}

[[gnu::always_inline]] inline void observe_shared(const Access& access) {
    const size_t offset = shadow().shared.offset(access.address);
    if (mode & EMU_CHECK) {
        if (!check_shared(access)) return;
        if (shared_cells) check_race(shared_cells, offset, races.block, access);
    }
    if (mode & EMU_COUNT) count_shared(offset, access.bytes, traffic_of(access), access.pc);
}

/// A running thread's access.
[[gnu::always_inline]] inline void observe(const Access& access) {
    if (__builtin_expect(++hooks.accesses > hooks.limit, 0)) report_runaway();
    if (__builtin_expect(races.unsettled, 0)) settle_race(&access);
    if (__builtin_expect(holds_unwritten, 0)) watch_unwritten(access);
    if (shadow().arena.contains(access.address)) return observe_arena(access);
    if (shadow().shared.contains(access.address)) return observe_shared(access);
    const auto stack = reinterpret_cast<uintptr_t>(running_thread->stack->lowest);
    if (access.address - stack >= kStackBytes) observe_elsewhere(access);
}

}  // namespace emu
