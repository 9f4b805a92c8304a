// What memory holds that nobody has written: that of the device, and the shared memory of each block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emu {

/// NaN bytes; NaN, large numbers, zeros and minus infinity, mixed; whatever was there before; or zeros.
enum class Fill : unsigned { Nan, Mixed, Left, Zeros };

/// Fill what nobody writes so from here on. `turn` is where the mixture begins in each piece of memory: equal turns
/// fill equally, wherever the memory lies.
void choose_fill(Fill fill, uint64_t turn);
void fill_unwritten(void* memory, size_t bytes);

}  // namespace emu
