// What the core tells the checks and counters. Plain builds link observer_none.cpp.
#pragma once

#include <functional>
#include <vector>

#include "memory/memory.h"
#include "run/defects.h"
#include "run/records.h"
#include "threads.h"

namespace emu {

/// The mode bits of emu_start. Hooks test it first: 0 is plain.
extern unsigned mode;

// A report begins. Allocations and symbols that exist stay as they are.
void on_start(unsigned mode);

// A launch begins and ends; `on_launch_end` fills the counters of `launch.record`, also after a launch that was ended.
void on_launch(Launch& launch);
void on_launch_end(Launch& launch);

// `next` of the launch's `count` blocks have been run. True when all others have been run too, beside each other; else
// they are for whoever asks to run. Told before each block.
bool on_blocks_left(Launch& launch, uint64_t next, uint64_t count, const std::function<bool(uint64_t, uint64_t)>& run);

// A block begins (nothing of its shared memory is initialised) and ends.
void on_block(Block& block);
void on_block_end(Block& block);
// A block waits for the other blocks of its grid, and goes on later: what is kept of its shared memory is kept for it.
void on_aside(Block& block, std::vector<unsigned char>& kept);
void on_resume(Block& block, const std::vector<unsigned char>& kept);
// Blocks of the launch are not run to their ends, the running one or those that wait.
void on_cut_off();
// All blocks have arrived: whatever came before is ordered before what follows.
void on_grid_barrier(Launch& launch);

// A range of the block's shared memory is a variable's from now on, until the launch ends: bytes outside of all such
// ranges are red zone. Told once per launch, during its first block or on a later first use.
void on_shared(Block& block, unsigned char* address, size_t bytes, const char* name);

// All live threads of the block have arrived; none has gone on. The running thread may have exited just now.
void on_barrier(Block& block);
// The lanes that the mask names have met: those of `present` have arrived, none has gone on, the others have left the
// kernel. `thread` is the last to come.
void on_warp_meeting(Thread& thread, uint32_t named, uint32_t present);
// The thread has run its last instruction.
void on_exit(Thread& thread);

void on_allocate(Allocation& allocation);
void on_free(Allocation& allocation);
// Address space of a freed allocation goes back to use.
void on_recycle(Allocation& allocation);
// The runtime API wrote or read device memory (arena or symbol).
void on_host_write(const void* address, size_t bytes);
void on_host_read(const void* address, size_t bytes);
// Before main, possibly before any other constructor ran.
void on_symbol(SymbolRecord& symbol);

// Told by shims, only while a kernel's thread runs; `pc` is a return address.
void on_atomic(void* address, unsigned bytes, const void* pc);
void on_access(const void* address, unsigned bytes, bool write, const void* pc);
void on_fence(Scope scope);

}  // namespace emu
