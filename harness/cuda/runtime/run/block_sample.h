// Running a program with a sample of the blocks of each launch.
#pragma once

#include <cstdint>
#include <vector>

#include "threads.h"

namespace emu {

/// So many blocks of each launch are run at most; 0: all.
extern uint64_t block_budget;

/// Whether the launch has more blocks than are to be run.
bool is_too_large(const Index& grid);
/// The blocks of the launch that are to be run, in order of their numbers: the first, the last, and others drawn by the
/// schedule's seed, other ones for each launch. Empty: all of them.
std::vector<uint64_t> block_sample(const Launch& launch);
/// The launch has run a sample: nothing is known of what the other blocks would have written.
void note_sample(uint64_t run, uint64_t blocks);

}  // namespace emu
