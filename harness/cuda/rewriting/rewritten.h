// Included before every rewritten source: what the rewriting itself calls.
#pragma once

#include "cuda_runtime.h"
#include "emulator.h"

#define EMU_TEXT(name) EMU_TEXT_OF(name)
#define EMU_TEXT_OF(name) #name

namespace emu {

/// `<<<grid, block, shared, stream>>>`, with the conversions that CUDA's launches allow.
inline void configured(dim3 grid, dim3 block, size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
    configure({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_shared, static_cast<void*>(stream));
}

}  // namespace emu
