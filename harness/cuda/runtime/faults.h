// Faults of kernels: a bad address, an overflown stack, a trap. Handlers are in place only while a launch runs.
#pragma once

#include <csignal>

namespace emu {

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
