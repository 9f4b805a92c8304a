// Fibers: stacks with guard pages, and the switch between them.
#pragma once

#include <cstddef>
#include <vector>

#include "threads.h"

#if defined(__x86_64__) && !defined(EMU_UCONTEXT)
#define EMU_OWN_SWITCH
#endif

namespace emu {

constexpr size_t kStackBytes = 256 << 10;
// Below the stack. With it a stack is an odd number of pages, so that all sets of the page-table cache are used.
constexpr size_t kGuardBytes = 68 << 10;

/// A stack that runs threads one after the other: `main` is entered on its first turn and never returns.
struct Stack {
    unsigned char* lowest = nullptr;  // usable byte; the guard lies below
    void* pointer = nullptr;          // the saved stack pointer (or context) while another one runs
    unsigned number = 0;
};

/// What lies on a stack that waits, so that another block's threads can use it until then.
struct SavedStack {
    Stack* stack;
    void* pointer;
    std::vector<unsigned char> bytes;
};
/// False where a stack cannot be moved away and back: this device's blocks can then not wait for each other.
extern const bool kStacksCanBeSaved;
SavedStack save(Stack& stack);

/// Stacks that no thread is on, kept for the life of the process.
class StackPool {
public:
    /// Null when memory is exhausted. A stack that was put back goes on where it stopped.
    Stack* take() { return free_.empty() && !grow() ? nullptr : pop(); }
    void put(Stack* stack) { free_.push_back(stack); }
    /// Make sure `count` stacks exist; false when memory is exhausted.
    bool reserve(unsigned count);
    /// Put all stacks back as if never entered: after a launch that was ended.
    void renew();
    /// All stacks are free but these, which are as they were saved.
    void bring_back(const std::vector<SavedStack>& saved);
    void set_main(void (*main)()) { main_ = main; }
    bool contains(const void* address) const;
    /// The stack whose guard holds `address`.
    const Stack* guarded_by(const void* address) const;

private:
    bool grow();
    Stack* pop();
    std::vector<Stack*> all_;
    std::vector<Stack*> free_;
    std::vector<unsigned char*> mappings_;
    void (*main_)() = nullptr;
};

/// Prepare a stack so that the first switch to it enters `main`.
void prepare(Stack& stack, void (*main)());
/// Go on with `to`, and return when somebody switches back to `from`.
#ifdef EMU_OWN_SWITCH
[[gnu::always_inline]] inline void switch_stack(Stack& from, Stack& to) {
    void** save = &from.pointer;
    void* load = to.pointer;
    // A call and a return, not jumps: all fibers of a warp wait at the same call, so that the processor's stack of
    // return addresses stays right. Whatever is kept over the switch lies on the stack: all registers are given up, but
    // for rbp, which the other side saves. The 128 bytes below the stack pointer may be the caller's.
    asm volatile("leaq -128(%%rsp), %%rsp\n\tcall emu_switch_stack_pointer\n\tleaq 128(%%rsp), %%rsp"
                 : "+D"(save), "+S"(load)
                 :
                 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                   "xmm14", "xmm15", "cc", "memory");
}
#else
void switch_stack(Stack& from, Stack& to);
#endif

}  // namespace emu
