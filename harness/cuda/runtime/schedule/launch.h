// Launches: their configuration, their checks, and the limits that a kernel was given.
#pragma once

#include <cstddef>
#include <functional>

#include "threads.h"

namespace emu {

/// What is known of a kernel from its launches and attributes.
struct KernelState {
    size_t dynamic_limit = 0;     // that cudaFuncSetAttribute set; 0 where it set none
    size_t static_shared = 0;     // the most that launches have used so far
    bool static_is_known = false;  // a launch came to its end
};
KernelState& kernel_state(const Kernel& kernel);

/// How many blocks fit on the device at once, by their threads and shared memory; registers are not known.
uint64_t resident_blocks(const Kernel& kernel, unsigned threads, size_t dynamic_shared);
/// The launch that is configured is a cooperative one.
void configure_cooperative();

/// The kernel behind a stub's address; null when the address is no stub.
const Kernel* kernel_of(const void* stub);

/// A launch of the kernel behind a stub's address, with copies of its parameters, in the configuration that is set when
/// it is called. Empty when the address is no stub.
using Untyped = std::function<void()>;
Untyped untyped(const void* stub, void* const* parameters);

}  // namespace emu
