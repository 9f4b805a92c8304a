// Whole-memory functions of instrumented source: what they read and write is seen piece by piece.
#include <cstring>

#include "emulator.h"
#include "observe/hooks.h"

using namespace emu;

extern "C" {

void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    const WholeCopy copy(to, from, bytes);
    observe_range(from, bytes, false, EMU_PC);
    observe_range(to, bytes, true, EMU_PC);
    return std::memcpy(to, from, bytes);
}

void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    const WholeCopy copy(to, from, bytes);
    observe_range(from, bytes, false, EMU_PC);
    observe_range(to, bytes, true, EMU_PC);
    return std::memmove(to, from, bytes);
}

void* __tsan_memset(void* to, int value, size_t bytes) {
    observe_range(to, bytes, true, EMU_PC);
    return std::memset(to, value, bytes);
}

}
