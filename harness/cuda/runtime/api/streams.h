// Streams as the rest of the runtime sees them.
#pragma once

namespace emu {

/// A new `cudaStream_t`.
void* create_stream(unsigned flags, int priority);
/// Streams from here on are the program's; they are numbered after those that are not.
void start_streams();

}  // namespace emu
