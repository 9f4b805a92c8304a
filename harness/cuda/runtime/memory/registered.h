// Host memory that cudaHostRegister has made known to the device.
#pragma once

#include <cstddef>

namespace emu {

void register_host(const void* begin, size_t bytes);
/// False when no range begins there.
bool unregister_host(const void* begin);
/// Whether `bytes` from `address` on lie in one such range.
bool is_registered(const void* address, size_t bytes);

}  // namespace emu
