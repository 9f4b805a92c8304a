#include "memory/shared.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "cuda_runtime_api.h"
#include "memory/fill.h"
#include "observe/observer.h"
#include "schedule/launch.h"
#include "schedule/scheduler.h"

namespace emu {

namespace {

unsigned char* base = nullptr;
uint64_t current_launch = 0;
size_t used = 0;           // bytes behind base, red zones included
size_t static_bytes = 0;   // as the real compiler would count them
size_t dynamic_bytes = 0;
bool dynamic_told = false;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

void refuse(const SharedSlot& slot) {
    Defect defect;
    defect.kind = "invalid_launch";
    defect.text = "static shared memory of " + std::to_string(static_bytes) + " bytes with `" + slot.name +
                  "`, where " + std::to_string(kSharedDefault) + " is the limit";
    defect.space = "shared";
    report(defect);
    end_launch(cudaErrorLaunchOutOfResources);
}

// The first launch of a kernel shows what static shared memory it has.
void refuse_if_too_much(Launch& launch) {
    launch.refused = too_much_shared(*launch.kernel, dynamic_bytes, static_bytes);
    if (launch.refused.empty()) return;
    on_cut_off();
    scheduler().leave();
}

}  // namespace

unsigned char* shared_base() {
    if (base) return base;
    void* memory = mmap(nullptr, kSharedCapacity + kSharedRedZone, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    base = static_cast<unsigned char*>(memory) + kSharedRedZone;
    return base;
}

void begin_shared(Launch& launch) {
    current_launch = launch.number;
    dynamic_bytes = launch.dynamic_shared;
    dynamic_told = false;
    static_bytes = 0;
    used = rounded(dynamic_bytes, kSharedRedZone) + kSharedRedZone;
}

void begin_shared(Block& block) {
    fill_unwritten(base, used);
    if (dynamic_told || !dynamic_bytes) return;
    dynamic_told = true;
    on_shared(block, base, dynamic_bytes, "dynamic shared memory");
}

std::string too_much_shared(const Kernel& kernel, size_t dynamic_bytes, size_t static_bytes) {
    constexpr size_t kDynamicAlignment = 16;  // it lies behind what is static
    const KernelState& known = kernel_state(kernel);
    if (dynamic_bytes) static_bytes = rounded(static_bytes, kDynamicAlignment);
    const size_t all = dynamic_bytes + static_bytes;
    if (all <= kSharedDefault || (dynamic_bytes <= known.dynamic_limit && all <= kSharedOptIn)) return {};
    std::string text = std::to_string(dynamic_bytes) + " bytes of dynamic";
    if (static_bytes) {
        text += (known.static_is_known ? " and " : " and at least ") + std::to_string(static_bytes) + " of static";
    }
    text += " shared memory, where ";
    const std::string by_default = std::to_string(kSharedDefault) + " is the limit without cudaFuncSetAttribute";
    if (!known.dynamic_limit) return text + by_default;
    if (dynamic_bytes <= known.dynamic_limit) return text + std::to_string(kSharedOptIn) + " is the limit";
    return text + "cudaFuncSetAttribute allows " + std::to_string(known.dynamic_limit) + " of dynamic";
}

std::vector<unsigned char> saved_shared() { return {base, base + used}; }

void restore_shared(const std::vector<unsigned char>& saved) {
    fill_unwritten(base, used);
    std::memcpy(base, saved.data(), saved.size());
}

void* shared(SharedSlot& slot) {
    if (slot.launch == current_launch && running_block) return base + slot.offset;
    if (!running_block) unsupported("shared memory outside of a kernel", Site{"", 0});
    if (in_share) give_up_share();
    ++progress;
    slot.offset = rounded(used, std::max(slot.alignment, kSharedRedZone));
    static_bytes = rounded(static_bytes, slot.alignment) + slot.bytes;
    if (static_bytes > kSharedDefault || slot.offset + slot.bytes > kSharedCapacity) refuse(slot);
    Launch& launch = *running_block->launch;
    launch.record.static_shared = static_bytes;
    refuse_if_too_much(launch);
    used = rounded(slot.offset + slot.bytes, kSharedRedZone) + kSharedRedZone;
    slot.launch = current_launch;
    fill_unwritten(base + slot.offset, used - slot.offset);
    on_shared(*running_block, base + slot.offset, slot.bytes, slot.name);
    return base + slot.offset;
}

void* dynamic_shared() { return base; }
size_t dynamic_shared_bytes() { return dynamic_bytes; }

}  // namespace emu
