// The heap that `malloc` and `new` of device code take from.
#pragma once

#include "memory/memory.h"

namespace emu {

constexpr size_t kHeapDefault = 8 << 20;  // what CUDA's guide gives for cudaLimitMallocHeapSize

/// What all of it may hold, for programs: cudaDeviceSetLimit sets it.
extern size_t heap_limit;
/// An allocation has been freed.
void heap_released(const Allocation& allocation);

}  // namespace emu
