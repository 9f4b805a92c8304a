// The blocks of one launch in several processes beside each other: each runs a share of them, on a copy of the device.
//
// What comes of it is taken only where nobody can tell the difference: no share had anything to tell, none touched a
// word that another one wrote, and no memory changed but what the hooks saw. Else the blocks are run here, one after the
// other, as if nothing had been.
#pragma once

#include <cstdint>
#include <functional>

#include "threads.h"

namespace emu {

/// Runs some of a launch's blocks, the `begin`-th to run up to the `end`-th; false when the launch was ended.
using BlockRange = std::function<bool(uint64_t begin, uint64_t end)>;

void shares_launch();
/// A running thread uses memory to pass messages: its launch is not shared out.
void shares_message(uintptr_t address);
/// Whether the blocks from `next` on, of `count`, have been run beside each other: where they are many, and slow.
bool run_in_shares(const Launch& launch, uint64_t next, uint64_t count, const BlockRange& run);

}  // namespace emu
