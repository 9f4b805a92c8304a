// Copies of variables in which nothing was written at all: a fault if the host takes them for a result.
#pragma once

#include "shadow/shadow.h"
#include "threads.h"

namespace emu {

/// A word without a value that was copied to device memory.
struct Copied {
    Access read;
    Index block;
    Index thread;
    uintptr_t to;
    unsigned width;
};
void note_copy(const Copied& copied);
void copies_launch();

/// A report begins.
void unwritten_start();
/// Memory is allocated anew: what lay there is of no concern.
void unwritten_forget(uintptr_t address, size_t bytes);
/// Device memory goes to the host: a result.
void unwritten_leaves(uintptr_t address, size_t bytes);

}  // namespace emu
