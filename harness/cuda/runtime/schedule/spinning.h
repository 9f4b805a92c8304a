// Threads that wait in a loop which the runtime does not see: uninstrumented code that reads a flag over and over.
#pragma once

namespace emu {

/// While it lives, a thread that has run for long without a word to the runtime makes room for another. Only plain
/// launches need it: instrumented loops let the others run by themselves, at places that are the same in every run.
class SpinWatch {
public:
    SpinWatch();
    ~SpinWatch();
    SpinWatch(const SpinWatch&) = delete;
    SpinWatch& operator=(const SpinWatch&) = delete;
};

}  // namespace emu
