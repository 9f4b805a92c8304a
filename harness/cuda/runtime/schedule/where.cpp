// Where the running thread is.
#include "threads.h"

#define EMU_COMPONENTS(name, expression)                                          \
    unsigned name##_x() { return emu::running_thread ? (expression).x : 0; }      \
    unsigned name##_y() { return emu::running_thread ? (expression).y : 0; }      \
    unsigned name##_z() { return emu::running_thread ? (expression).z : 0; }

extern "C" {
EMU_COMPONENTS(emu_thread, emu::running_thread->index)
EMU_COMPONENTS(emu_block, emu::running_block->index)
EMU_COMPONENTS(emu_block_dim, emu::running_block->launch->block)
EMU_COMPONENTS(emu_grid_dim, emu::running_block->launch->grid)
}

namespace emu {

unsigned linear_thread() { return running_thread ? running_thread->linear : 0; }
bool on_device() { return running_thread != nullptr; }

}  // namespace emu
