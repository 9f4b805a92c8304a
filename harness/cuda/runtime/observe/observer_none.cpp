// Plain builds observe nothing.
#include "observe/observer.h"

namespace emu {

void on_start(unsigned) {}
void on_launch(Launch&) {}
void on_launch_end(Launch&) {}
bool on_blocks_left(Launch&, uint64_t, uint64_t, const std::function<bool(uint64_t, uint64_t)>&) { return false; }
void on_block(Block&) {}
void on_block_end(Block&) {}
void on_aside(Block&, std::vector<unsigned char>&) {}
void on_resume(Block&, const std::vector<unsigned char>&) {}
void on_cut_off() {}
void on_grid_barrier(Launch&) {}
void on_shared(Block&, unsigned char*, size_t, const char*) {}
void on_barrier(Block&) {}
void on_warp_meeting(Thread&, uint32_t, uint32_t) {}
void on_exit(Thread&) {}
void on_allocate(Allocation&) {}
void on_free(Allocation&) {}
void on_recycle(Allocation&) {}
void on_host_write(const void*, size_t) {}
void on_host_read(const void*, size_t) {}
void on_symbol(SymbolRecord&) {}
void on_atomic(void*, unsigned, const void*) {}
void on_access(const void*, unsigned, bool, const void*) {}
void on_fence(Scope) {}

}  // namespace emu
