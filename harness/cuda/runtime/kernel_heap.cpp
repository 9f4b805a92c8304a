// `malloc`, `free` and `clock` of device code: memory of the device, checked as any other, and a counter.
#include <cstdlib>
#include <ctime>

#include "defects.h"
#include "memory.h"
#include "state.h"

namespace emu {

void* kernel_malloc(size_t bytes) {
    if (!on_device()) return std::malloc(bytes);
    Allocation* allocation = allocate(bytes ? bytes : 1, AllocationKind::Device, __builtin_return_address(0));
    return allocation ? allocation->address : nullptr;
}

void kernel_free(void* pointer) {
    if (!on_device()) return std::free(pointer);
    if (!pointer) return;
    Allocation* allocation = find_allocation(pointer);
    if (allocation && !allocation->freed && allocation->address == pointer) return release(*allocation);
    Defect defect;
    const bool twice = allocation && allocation->freed;
    defect.kind = twice ? "double_free" : "invalid_free";
    defect.text = twice ? "free: `" + allocation->name + "` has been freed before" : "free: a pointer to no allocation";
    defect.pc = __builtin_return_address(0);
    report(defect);
}

long long ticks() {
    constexpr long long kStep = 1 << 10;
    static long long now = 0;
    yield();
    return now += kStep;
}

long long kernel_clock() { return on_device() ? ticks() : static_cast<long long>(std::clock()); }

}  // namespace emu
