// What an unwritten value leads to, where threads do more than copy it.
//
// The hooks see addresses and what is stored, not the arithmetic between. So when a block first reads unwritten bytes at
// a place of the source, the process is copied (fork), and each copy runs the block to its end with other bytes in their
// place. Where the copies take different ways, reach different addresses, print different text or leave different results
// outside of shared memory, the value was used. Where they do not, nothing came of it: threads may well have stored
// sums with it that nobody looked at.
#pragma once

#include "shadow/shadow.h"

namespace emu {

/// What stands for unwritten bytes: signalling NaNs, as always; finite numbers; small integers from 0 or 1 on, which
/// decisions ask for.
enum class Filling : uint8_t { Usual, Finite, FromZero, FromOne };

/// What became of the values that a block read at one place.
enum class Fate : uint8_t {
    Unknown,
    Decided,  // the way of a thread, or an address
    Stored,   // what lies outside of shared memory, or was printed
    Spent,    // nothing came of it
};

/// Unwritten bytes are read at `pc`. The first time in a block, copies may run it to its end before this returns.
void twins_read(const void* pc);
/// What became of the bytes that the running block, or else the last one that was looked at, read there.
Fate twins_fate(const void* pc);
/// Another block follows.
void twins_block_end();

/// Whether this process is a copy.
bool in_twin();
/// With what the bytes that are read there are filled in this process.
Filling twins_filling(const void* pc);
/// Where that is with small integers: the next one.
uint32_t next_small();
/// In a copy: the block has ended, or a part of it up to a barrier of its grid; the process tells what it did, and ends.
void twin_ends(bool part = false);
/// In a copy: what it does.
void trace_access(const Access& access);
void trace_store(uintptr_t address, uint64_t value);

/// What a copy of the process prints is kept apart from here on, as much of it as goes into a pipe that nobody empties;
/// its reading end, -1 where there is none.
int redirect_output();

}  // namespace emu
