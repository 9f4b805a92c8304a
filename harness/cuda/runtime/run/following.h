// Whoever wants to know what happens as it happens, not only when the program ends.
#pragma once

#include "run/state.h"

namespace emu {

struct Follower {
    /// A defect that no kept one equals.
    void (*defect)(const KeptDefect& kept) = nullptr;
    /// A block that is about to run, as the number so much of so many.
    void (*block)(const Block& block, uint64_t done, uint64_t blocks) = nullptr;
    /// A launch that is about to run.
    void (*launch)(const Launch& launch) = nullptr;
};
extern Follower follower;

}  // namespace emu
