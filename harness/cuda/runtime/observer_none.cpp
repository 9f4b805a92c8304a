// Plain builds observe nothing. Weak: a program linked with all objects takes the checks' own.
#include "observer.h"

namespace emu {

[[gnu::weak]] void on_start(unsigned) {}
[[gnu::weak]] void on_launch(Launch&) {}
[[gnu::weak]] void on_launch_end(Launch&) {}
[[gnu::weak]] void on_block(Block&) {}
[[gnu::weak]] void on_block_end(Block&) {}
[[gnu::weak]] void on_shared(Block&, unsigned char*, size_t, const char*) {}
[[gnu::weak]] void on_barrier(Block&) {}
[[gnu::weak]] void on_warp_meeting(Thread&, uint32_t) {}
[[gnu::weak]] void on_exit(Thread&) {}
[[gnu::weak]] void on_allocate(Allocation&) {}
[[gnu::weak]] void on_free(Allocation&) {}
[[gnu::weak]] void on_recycle(Allocation&) {}
[[gnu::weak]] void on_host_write(const void*, size_t) {}
[[gnu::weak]] void on_host_read(const void*, size_t) {}
[[gnu::weak]] void on_symbol(SymbolRecord&) {}
[[gnu::weak]] void on_atomic(void*, unsigned, const void*) {}
[[gnu::weak]] void on_access(const void*, unsigned, bool, const void*) {}
[[gnu::weak]] void on_fence(Scope) {}

}  // namespace emu
