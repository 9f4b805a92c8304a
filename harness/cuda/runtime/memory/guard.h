// Host code cannot reach device memory: from a start to its report the pages are closed whenever no kernel and no call of
// the runtime is at work.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include "schedule/host_threads.h"

namespace emu {

/// Close device memory from here on. An access of host code is reported, once for each buffer between two calls, and
/// then goes through: the answer's end is its own.
void guard_device_memory();
/// Open it until it is closed again: the driver is at work, which reads and writes every buffer.
void open_device_memory();

/// A fault of host code in closed memory, which goes on after it; false for any other.
bool host_reaches(const siginfo_t& info, const ucontext_t& context);

/// Device memory is open while one of these lives.
class Reach {
    Exclusive exclusive_;

public:
    Reach();
    ~Reach();
    Reach(const Reach&) = delete;
    Reach& operator=(const Reach&) = delete;
};

}  // namespace emu
