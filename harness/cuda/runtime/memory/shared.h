// The shared memory of the block that runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "threads.h"

namespace emu {

constexpr size_t kSharedDefault = 48 << 10;   // bytes of a block, without asking
constexpr size_t kSharedOptIn = 227 << 10;    // with cudaFuncSetAttribute
constexpr size_t kSharedRedZone = 128;        // between variables: a row of all banks
constexpr size_t kSharedCapacity = 1 << 20;

/// Base of the shared memory, the same for all blocks; null when there is no memory for it.
unsigned char* shared_base();
void begin_shared(Launch& launch);
/// Poison what the launch has used so far; for its first block, give dynamic shared memory its place.
void begin_shared(Block& block);
/// Why a block of the kernel has too much of it; empty where it has not.
std::string too_much_shared(const Kernel& kernel, size_t dynamic_bytes, size_t static_bytes);
/// What the block has in shared memory, and another block's in its place.
std::vector<unsigned char> saved_shared();
void restore_shared(const std::vector<unsigned char>& saved);

}  // namespace emu
