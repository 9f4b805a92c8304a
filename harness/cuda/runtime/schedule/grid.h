// Blocks of a cooperative launch that wait for each other.
//
// Blocks run one after the other, in one storage and on one set of stacks. A block whose threads all wait for the
// others is put aside with what is on its stacks and in its shared memory; when every block is, they go on in order.
#pragma once

#include "threads.h"

namespace emu {

/// All threads of the block that runs have arrived.
void set_aside(Block& block);
/// Let the blocks that were put aside go on to their ends; `block` is the storage they run in, `blocks` are the grid's.
/// False when the launch was ended from inside.
bool run_aside(Block& block, uint64_t blocks);
void forget_aside();

}  // namespace emu
