// Whoever wants to know what happens as it happens, not only when the program ends.
#pragma once

#include "state.h"

namespace emu {

struct Follower {
    /// A defect that no kept one equals.
    void (*defect)(const KeptDefect& kept) = nullptr;
    /// A launch that is about to run.
    void (*launch)(const Launch& launch) = nullptr;
};
extern Follower follower;

}  // namespace emu
