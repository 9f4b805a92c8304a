// Faults of kernels: a bad address, an overflown stack, a trap. Handlers are in place only while a launch runs.
#pragma once

#include <ucontext.h>

#include <csignal>

namespace emu {

/// One past the instruction that a signal came in, as a return address is.
const void* pc_of(const ucontext_t& context);

class FaultHandlers {
public:
    FaultHandlers();
    ~FaultHandlers();
    FaultHandlers(const FaultHandlers&) = delete;
    FaultHandlers& operator=(const FaultHandlers&) = delete;

private:
    stack_t old_stack_;
};

}  // namespace emu
