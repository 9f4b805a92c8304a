// `malloc`, `free`, `new`, `delete` and `clock` of device code: memory of the device, checked as any other, and a counter.
#include "memory/kernel_heap.h"

#include <cstdlib>
#include <ctime>

#include "memory/memory.h"
#include "run/defects.h"
#include "run/state.h"

namespace emu {

size_t heap_limit = kHeapDefault;

namespace {

size_t heap_used = 0;

/// What an allocation takes of the heap: multiples of 16 bytes, as its alignment asks for.
size_t heap_extent(size_t bytes) { return (bytes + 15) / 16 * 16; }

void* heap_take(size_t bytes, const void* pc) {
    if (in_share) give_up_share();
    bytes = bytes ? bytes : 1;
    // an answer's kernels are held to the memory alone
    if (has_own_main && (bytes > heap_limit || heap_used + heap_extent(bytes) > heap_limit)) return nullptr;
    Allocation* allocation = allocate(bytes, AllocationKind::Device, pc);
    if (!allocation && has_own_main) {
        unsupported("more objects of kernels at once than the emulated device's memory has room for",
                    running_block->launch->kernel->site);
    }
    if (!allocation) return nullptr;
    allocation->of_kernels = true;
    heap_used += heap_extent(bytes);
    return allocation->address;
}

/// Why the pointer cannot be freed by a kernel; null when it can.
const char* heap_refusal(const Allocation* allocation, const void* pointer) {
    if (!allocation) return "a pointer to no allocation";
    if (allocation->freed) return "has been freed before";
    if (allocation->address != pointer) return "a pointer to no allocation";
    if (has_own_main && !allocation->of_kernels) return "was allocated by the host, not by a kernel";
    return nullptr;
}

}  // namespace

void heap_released(const Allocation& allocation) {
    if (allocation.of_kernels) heap_used -= heap_extent(allocation.bytes);
}

void* kernel_malloc(size_t bytes) {
    if (!on_device()) return std::malloc(bytes);
    return heap_take(bytes, __builtin_return_address(0));
}

void* kernel_new(size_t bytes, Site site) {
    if (!on_device()) return ::operator new(bytes);
    if (!has_own_main) unsupported("new in device code", site);
    return heap_take(bytes, __builtin_return_address(0));
}

void kernel_free(void* pointer) {
    if (!on_device()) return std::free(pointer);
    if (!pointer) return;
    if (in_share) give_up_share();
    Allocation* allocation = find_allocation(pointer);
    const char* why = heap_refusal(allocation, pointer);
    if (!why) return release(*allocation);
    Defect defect;
    defect.kind = allocation && allocation->freed ? "double_free" : "invalid_free";
    const bool named = allocation && (allocation->freed || allocation->address == pointer);
    defect.text = "free: " + (named ? "`" + allocation->name + "` " : "") + why;
    defect.pc = __builtin_return_address(0);
    report(defect);
}

long long ticks() {
    constexpr long long kStep = 1 << 10;
    if (in_share) give_up_share();
    static long long now = 0;
    yield();
    return now += kStep;
}

long long kernel_clock() { return on_device() ? ticks() : static_cast<long long>(std::clock()); }

}  // namespace emu
