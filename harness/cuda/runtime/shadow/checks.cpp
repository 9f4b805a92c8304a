// Checks of accesses that are not plainly right: odd sizes, edges, and memory that is neither arena nor shared.
#include "cuda_runtime_api.h"
#include "memory/registered.h"
#include "run/defects.h"
#include "schedule/stacks.h"
#include "shadow/shadow.h"

namespace emu {

namespace {

/// Whether all of the range has a value; a write gives it one.
bool touch_range(Region& region, const Access& access) {
    const size_t offset = region.offset(access.address);
    const bool known = (access.write && !access.atomic) || region.written.range_all(offset, access.bytes);
    if (access.write) region.written.set_range(offset, access.bytes, true);
    return known;
}

bool on_own_stack(uintptr_t address) {
    const Stack* stack = running_thread->stack;
    return address - reinterpret_cast<uintptr_t>(stack->lowest) < kStackBytes;
}

// A variable has other data of the program behind it, which is the host's.
void check_past_symbol(const Access& access) {
    for (uintptr_t back = 1; back <= kNearSymbol; ++back) {
        if (!find_symbol(reinterpret_cast<const void*>(access.address - back))) continue;
        report_outside_symbol(access);
        end_launch(cudaErrorIllegalAddress);
    }
}

bool check_symbol(const Access& access) {
    const SymbolRecord* symbol = find_symbol(reinterpret_cast<const void*>(access.address));
    if (!symbol) return false;
    const size_t offset = access.address - reinterpret_cast<uintptr_t>(symbol->address);
    if (offset + access.bytes > symbol->bytes || (access.write && symbol->space == Space::Constant)) {
        report_outside_symbol(access);
    }
    if (is_misaligned(access)) report_misaligned(access);
    return true;
}

}  // namespace

bool check_arena_slowly(const Access& access) {
    Shadow& s = shadow();
    const size_t offset = s.arena.offset(access.address);
    const Extent& extent = s.extent_at(offset);
    if (offset < extent.begin || offset + access.bytes > extent.end) {
        report_outside_allocation(access);
        return false;
    }
    if (is_misaligned(access)) report_misaligned(access);
    if (!touch_range(s.arena, access)) read_unwritten(s.arena, access);
    return true;
}

bool check_shared_slowly(const Access& access) {
    Shadow& s = shadow();
    const size_t offset = s.shared.offset(access.address);
    if (offset + access.bytes > s.shared.bytes || !s.shared.valid.range_all(offset, access.bytes)) {
        report_outside_shared(access);
        return false;
    }
    if (is_misaligned(access)) report_misaligned(access);
    if (!touch_range(s.shared, access)) read_unwritten(s.shared, access);
    return true;
}

bool check_elsewhere(const Access& access) {
    if (on_own_stack(access.address)) return false;
    if (shadow().symbols.contains(access.address) && check_symbol(access)) return true;
    if (!access.write && is_constant_of_module(access.address)) return false;
    if (is_registered(reinterpret_cast<const void*>(access.address), access.bytes)) {
        if (access.write && in_share) give_up_share();  // nobody would see it
        return false;
    }
    check_past_symbol(access);
    report_not_device_memory(access);
}

void check_host(const Access& access) {
    const void* address = reinterpret_cast<const void*>(access.address);
    const bool in_arena = shadow().arena.contains(access.address);
    if (!in_arena) {
        const SymbolRecord* symbol = shadow().symbols.contains(access.address) ? find_symbol(address) : nullptr;
        if (!symbol || symbol->space == Space::Managed) return;
    }
    if (in_arena) {
        const Allocation* allocation = find_allocation(address);
        if (allocation && !allocation->freed && allocation->kind != AllocationKind::Device) return;
    }
    if (seen_again("device_pointer_on_host", access.pc)) return;
    const Place place = place_of(access.address);
    Defect defect;
    defect.kind = "device_pointer_on_host";
    defect.text = std::string("host code ") + access.verb() + "s " + std::to_string(access.bytes) + " bytes of " +
                  (place.name.empty() ? "device memory" : "`" + place.name + "`, which is device memory");
    defect.pc = access.pc;
    defect.space = place.space;
    defect.access = access.verb();
    defect.bytes = access.bytes;
    defect.buffer = place.name;
    defect.offset = place.offset;
    report(defect);
}

}  // namespace emu
