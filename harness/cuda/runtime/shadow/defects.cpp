// The words for accesses that are known to be wrong.
#include <sys/mman.h>

#include "run/defects.h"
#include "shadow/shadow.h"

namespace emu {

namespace {

constexpr int kIllegalAddress = 700;     // cudaErrorIllegalAddress
constexpr int kMisalignedAddress = 716;  // cudaErrorMisalignedAddress
constexpr uintptr_t kNullPage = 1 << 16;

std::string bytes_text(size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string phrase(const Access& access) { return std::string(access.verb()) + " of " + bytes_text(access.bytes); }

Defect defect_of(const char* kind, const Access& access, const Place& place) {
    Defect defect;
    defect.kind = kind;
    defect.pc = access.pc;
    defect.space = place.space;
    defect.access = access.verb();
    defect.bytes = access.bytes;
    defect.buffer = place.name;
    defect.offset = place.offset;
    return defect;
}

/// Where the access begins as against the variable that is nearest.
std::string distance(const Place& place) {
    const std::string name = "`" + place.name + "` (" + bytes_text(place.bytes) + ")";
    const auto size = static_cast<int64_t>(place.bytes);
    if (place.offset < 0) return bytes_text(static_cast<size_t>(-place.offset)) + " before " + name;
    if (place.offset == size) return "just past the end of " + name;
    if (place.offset > size) return bytes_text(static_cast<size_t>(place.offset - size)) + " past the end of " + name;
    return "across the end of " + name + ", from its byte " + std::to_string(place.offset) + " on";
}

void report_outside(const Access& access, const char* nowhere) {
    if (seen_again("out_of_bounds", access.pc)) return;
    const Place place = place_of(access.address);
    Defect defect = defect_of("out_of_bounds", access, place);
    defect.text = phrase(access) + (place.name.empty() ? nowhere : ", " + distance(place));
    report(defect);
}

Place place_of_allocation(uintptr_t address) {
    Place place;
    const auto* p = reinterpret_cast<const unsigned char*>(address);
    const Allocation* allocation = find_allocation(p);
    if (!allocation) {  // or it lies just before one
        allocation = find_allocation(p + kGranule);
        if (allocation && allocation->address < p) allocation = nullptr;
    }
    if (!allocation) return place;
    place.name = allocation->name;
    place.offset = p - allocation->address;
    place.bytes = allocation->bytes;
    return place;
}

Place place_of_shared(uintptr_t address) {
    Place place;
    place.space = "shared";
    const auto offset = static_cast<int64_t>(shadow().shared.offset(address));
    for (const SharedVariable& variable : shared_variables()) {  // the last one that begins at or before the address
        const int64_t inside = offset - static_cast<int64_t>(variable.offset);
        if (inside < 0 || (!place.name.empty() && inside > place.offset)) continue;
        place.name = variable.name;
        place.offset = inside;
        place.bytes = variable.bytes;
    }
    return place;
}

bool is_mapped(uintptr_t address) {
    constexpr uintptr_t kPage = 4096;
    return msync(reinterpret_cast<void*>(address & ~(kPage - 1)), 1, MS_ASYNC) == 0;
}

}  // namespace

Place place_of(uintptr_t address) {
    Shadow& s = shadow();
    if (s.arena.contains(address)) return place_of_allocation(address);
    if (s.shared.contains(address)) return place_of_shared(address);
    Place place;
    const SymbolRecord* symbol = find_symbol(reinterpret_cast<const void*>(address));
    for (uintptr_t back = 1; !symbol && back <= kNearSymbol; ++back) {
        symbol = find_symbol(reinterpret_cast<const void*>(address - back));
    }
    if (symbol) {
        place.name = symbol->name;
        place.offset = static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(symbol->address));
        place.bytes = symbol->bytes;
        if (symbol->space == Space::Constant) place.space = "constant";
    }
    return place;
}

void report_outside_allocation(const Access& access) {
    const Allocation* allocation = find_allocation(reinterpret_cast<const void*>(access.address));
    if (!allocation || !allocation->freed) {
        report_outside(access, " where no allocation of device memory is");
        return;
    }
    if (seen_again("use_after_free", access.pc)) return;
    const Place place = place_of(access.address);
    Defect defect = defect_of("use_after_free", access, place);
    defect.text = phrase(access) + " at byte " + std::to_string(place.offset) + " of `" + place.name +
                  "`, which has been freed";
    report(defect);
}

void report_outside_shared(const Access& access) { report_outside(access, " of shared memory where no variable is"); }

void report_outside_symbol(const Access& access) {
    const Place place = place_of(access.address);
    const bool constant = access.write && place.offset + access.bytes <= static_cast<int64_t>(place.bytes);
    if (!constant) return report_outside(access, "");
    if (seen_again("constant_write", access.pc)) return;
    Defect defect = defect_of("constant_write", access, place);
    defect.text = phrase(access) + " to `" + place.name + "`, which is constant memory";
    report(defect);
}

Defect unwritten_defect(const Access& access) {
    const Place place = place_of(access.address);
    Defect defect = defect_of("uninitialized_read", access, place);
    defect.text = phrase(access) + " at byte " + std::to_string(place.offset) + " of `" + place.name + "`, to which " +
                  (shadow().shared.contains(access.address) ? "no thread of this block has written"
                                                            : "nothing has been written");
    if (!running_block) return defect;
    defect.kernel = running_block->launch->kernel->name;
    defect.launch = running_block->launch->ordinal;
    return defect;
}

void report_unwritten(const Access& access, Index block, Index thread) {
    if (seen_again("uninitialized_read", access.pc)) return;
    Defect defect = unwritten_defect(access);
    defect.placed = true;
    defect.block = block;
    defect.thread = thread;
    report(defect);
}

void report_misaligned(const Access& access) {
    const Place place = place_of(access.address);
    Defect defect = defect_of("misaligned", access, place);
    defect.text = phrase(access) + " at byte " + std::to_string(place.offset) + " of `" + place.name +
                  "`: the address is no multiple of " + std::to_string(access.bytes);
    report(defect);
    end_launch(kMisalignedAddress);
}

void report_not_device_memory(const Access& access) {
    const void* address = reinterpret_cast<const void*>(access.address);
    const char* kind = "host_pointer_in_kernel";
    const char* space = "host";
    const char* what = ": the address is one of the host's memory";
    if (access.address < kNullPage) {
        kind = "null_pointer";
        space = "global";
        what = " through a null pointer";
    } else if (on_a_stack(address)) {
        kind = "local_out_of_bounds";
        space = "local";
        what = " of another thread's local memory, or outside of the thread's own";
    } else if (!is_mapped(access.address)) {
        kind = "out_of_bounds";
        space = "global";
        what = " where no memory is";
    }
    Place place;
    place.space = space;
    Defect defect = defect_of(kind, access, place);
    defect.text = phrase(access) + what;
    report(defect);
    end_launch(kIllegalAddress);
}

}  // namespace emu
