#include "schedule/stacks.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#ifndef EMU_OWN_SWITCH
#include <ucontext.h>
#endif

namespace emu {

namespace {

constexpr unsigned kStacksPerMapping = 32;
constexpr size_t kStride = kStackBytes + kGuardBytes;

// Stacks lie a multiple of a page apart: without an offset of its own the top of each would fall into the same sets of
// the cache.
unsigned char* coloured_top(const Stack& stack) {
    return stack.lowest + kStackBytes - (stack.number * 5 % 31) * 128;
}

}  // namespace

bool StackPool::grow() {
    void* memory = mmap(nullptr, kStacksPerMapping * kStride, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return false;
    mappings_.push_back(static_cast<unsigned char*>(memory));
    for (unsigned i = kStacksPerMapping; i-- > 0;) {
        unsigned char* lowest = static_cast<unsigned char*>(memory) + i * kStride + kGuardBytes;
        if (mprotect(lowest, kStackBytes, PROT_READ | PROT_WRITE) != 0) return false;
        auto* stack = new Stack;
        stack->lowest = lowest;
        stack->number = static_cast<unsigned>(all_.size());
        prepare(*stack, main_);
        all_.push_back(stack);
        free_.push_back(stack);
    }
    return true;
}

Stack* StackPool::pop() {
    Stack* stack = free_.back();
    free_.pop_back();
    return stack;
}

bool StackPool::reserve(unsigned count) {
    while (all_.size() < count) {
        if (!grow()) return false;
    }
    return true;
}

void StackPool::renew() {
    free_ = all_;
    for (Stack* stack : all_) prepare(*stack, main_);
}

void StackPool::bring_back(const std::vector<SavedStack>& saved) {
    renew();
    std::vector<bool> taken(all_.size());
    for (const SavedStack& kept : saved) {
        taken[kept.stack->number] = true;
        kept.stack->pointer = kept.pointer;
        std::memcpy(kept.pointer, kept.bytes.data(), kept.bytes.size());
    }
    free_.clear();
    for (Stack* stack : all_) {
        if (!taken[stack->number]) free_.push_back(stack);
    }
}

SavedStack save(Stack& stack) {
    const unsigned char *from = static_cast<const unsigned char*>(stack.pointer), *from_end = stack.lowest + kStackBytes;
    return {&stack, stack.pointer, {from, from_end}};
}

bool StackPool::contains(const void* address) const {
    auto* p = static_cast<const unsigned char*>(address);
    for (const unsigned char* mapping : mappings_) {
        if (p >= mapping && p < mapping + kStacksPerMapping * kStride) return true;
    }
    return false;
}

const Stack* StackPool::guarded_by(const void* address) const {
    auto* p = static_cast<const unsigned char*>(address);
    for (const Stack* stack : all_) {
        if (p >= stack->lowest - kGuardBytes && p < stack->lowest) return stack;
    }
    return nullptr;
}

#ifdef EMU_OWN_SWITCH

const bool kStacksCanBeSaved = true;

// What `switch_stack` calls. Kernels do not change floating-point control words.
asm(R"(
.text
.p2align 4
.globl emu_switch_stack_pointer
.hidden emu_switch_stack_pointer
.type emu_switch_stack_pointer, @function
emu_switch_stack_pointer:
    pushq %rbp
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %rbp
    ret
.size emu_switch_stack_pointer, . - emu_switch_stack_pointer
)");

void prepare(Stack& stack, void (*main)()) {
    auto** top = reinterpret_cast<void**>(coloured_top(stack));
    *--top = nullptr;  // main's return address: it has none, and the stack is aligned as after a call
    *--top = reinterpret_cast<void*>(main);
    *--top = nullptr;  // rbp
    stack.pointer = top;
}

#else

const bool kStacksCanBeSaved = false;  // a context has pointers into itself

void prepare(Stack& stack, void (*main)()) {
    auto* context = static_cast<ucontext_t*>(stack.pointer);
    if (!context) context = new ucontext_t;
    getcontext(context);
    context->uc_stack.ss_sp = stack.lowest;
    context->uc_stack.ss_size = static_cast<size_t>(coloured_top(stack) - stack.lowest);
    context->uc_link = nullptr;
    makecontext(context, main, 0);
    stack.pointer = context;
}

void switch_stack(Stack& from, Stack& to) {
    if (!from.pointer) from.pointer = new ucontext_t;
    swapcontext(static_cast<ucontext_t*>(from.pointer), static_cast<ucontext_t*>(to.pointer));
}

#endif

}  // namespace emu
