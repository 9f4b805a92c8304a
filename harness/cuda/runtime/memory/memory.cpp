#include "memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

#include "memory/fill.h"
#include "memory/guard.h"
#include "memory/kernel_heap.h"
#include "observe/observer.h"
#include "run/state.h"

namespace emu {

namespace {

constexpr size_t kDefaultMib = 1024, kProgramMib = 2048;  // a program comes with the sizes that its author gave it
constexpr size_t kQuarantineBytes = 128 << 20;
constexpr size_t kQuarantineUnwatched = 8 << 20;  // every page that was ever used costs time whenever memory is closed

size_t extent(size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule + kRedZone; }

/// Address space in order, what is free of it, and what waits to become free.
struct Arena {
    Range range{nullptr, nullptr};
    std::map<const unsigned char*, Allocation*> allocations;  // live and quarantined
    std::map<unsigned char*, size_t> holes;
    std::deque<Allocation*> quarantine;
    size_t quarantined = 0;
    size_t taken = 0;
    unsigned numbers = 0, unnamed = 0;
    bool program = false;
};

Arena& memory() {
    static auto* instance = new Arena;  // outlives static destructors
    return *instance;
}

void add_hole(unsigned char* begin, size_t bytes) {
    auto& holes = memory().holes;
    auto after = holes.lower_bound(begin);
    if (after != holes.end() && begin + bytes == after->first) {
        bytes += after->second;
        after = holes.erase(after);
    }
    if (after != holes.begin()) {
        auto before = std::prev(after);
        if (before->first + before->second == begin) {
            before->second += bytes;
            return;
        }
    }
    holes.emplace(begin, bytes);
}

unsigned char* take_hole(size_t bytes) {
    auto& holes = memory().holes;
    for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
        if (hole->second < bytes) continue;
        auto [begin, size] = *hole;
        holes.erase(hole);
        if (size > bytes) holes.emplace(begin + bytes, size - bytes);
        return begin;
    }
    return nullptr;
}

void recycle_oldest() {
    Arena& m = memory();
    Allocation* oldest = m.quarantine.front();
    m.quarantine.pop_front();
    on_recycle(*oldest);
    m.allocations.erase(oldest->address);
    m.quarantined -= extent(oldest->bytes);
    add_hole(oldest->address, extent(oldest->bytes));
    delete oldest;
}

unsigned char* take_space(size_t bytes) {
    if (bytes > static_cast<size_t>(memory().range.end - memory().range.begin)) return nullptr;
    for (;;) {
        if (unsigned char* space = take_hole(bytes)) return space;
        if (memory().quarantine.empty()) return nullptr;
        recycle_oldest();
    }
}

void note(const Allocation& a) {
    State& s = state();
    list(s.allocations, AllocationNote{a.number, a.name, a.bytes, a.kind, a.freed, a.by_program});
    if (!a.by_program) return;
    s.bytes_in_use += a.bytes;
    s.peak_bytes = std::max(s.peak_bytes, s.bytes_in_use);
}

}  // namespace

Range arena() { return memory().range; }

Range reserve_arena() {
    Arena& m = memory();
    if (m.range.begin) return m.range;
    const char* text = std::getenv("EMU_MEMORY_MIB");
    size_t mib = text ? std::strtoull(text, nullptr, 10) : 0;
    size_t bytes = std::min<size_t>(mib ? mib : has_own_main ? kProgramMib : kDefaultMib, 1 << 20) << 20;
    void* space = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return m.range;
    auto* begin = static_cast<unsigned char*>(space);
    m.range = Range{begin, begin + bytes};
    m.holes.emplace(begin + kRedZone, bytes - kRedZone);
    return m.range;
}

Allocation* find_allocation(const void* address) {
    const Exclusive exclusive;
    Arena& m = memory();
    auto* p = static_cast<const unsigned char*>(address);
    if (!m.range.contains(p)) return nullptr;
    auto after = m.allocations.upper_bound(p);
    if (after == m.allocations.begin()) return nullptr;
    Allocation* a = std::prev(after)->second;
    return p < a->address + extent(a->bytes) ? a : nullptr;
}

void each_allocation(void (*visit)(Allocation&, void*), void* context) {
    std::vector<Allocation*> all;
    for (const auto& [address, allocation] : memory().allocations) all.push_back(allocation);
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->number < b->number; });
    for (Allocation* allocation : all) visit(*allocation, context);
}

Allocation* allocate(size_t bytes, AllocationKind kind, const void* pc) {
    const Exclusive exclusive;
    reserve_arena();
    Arena& m = memory();
    if (bytes > SIZE_MAX / 2) return nullptr;
    unsigned char* space = take_space(extent(bytes));
    if (!space) return nullptr;
    Reach reach;
    fill_unwritten(space, extent(bytes));
    auto* allocation =
        new Allocation{space, bytes, kind, false, m.program, m.numbers++, "buffer " + std::to_string(m.unnamed++), pc};
    m.allocations.emplace(space, allocation);
    m.taken += extent(bytes);
    note(*allocation);
    on_allocate(*allocation);
    return allocation;
}

void release(Allocation& allocation) {
    const Exclusive exclusive;
    Arena& m = memory();
    allocation.freed = true;
    heap_released(allocation);
    Reach reach;
    // what an answer frees is used again at once, as on a GPU: whoever remembers an address meets other contents there
    const bool kept_apart = mode & EMU_CHECK || has_own_main;
    if (kept_apart) fill_unwritten(allocation.address, allocation.bytes);
    m.taken -= extent(allocation.bytes);
    m.quarantine.push_back(&allocation);
    m.quarantined += extent(allocation.bytes);
    for (AllocationNote& known : state().allocations) {
        if (known.number == allocation.number) known.freed = true;
    }
    if (allocation.by_program) state().bytes_in_use -= allocation.bytes;
    on_free(allocation);
    const size_t kept = mode & EMU_CHECK ? kQuarantineBytes : kept_apart ? kQuarantineUnwatched : 0;
    while (m.quarantined > kept) recycle_oldest();
}

size_t free_bytes() {
    Range range = reserve_arena();
    return static_cast<size_t>(range.end - range.begin) - memory().taken;
}

void start_memory() {
    Arena& m = memory();
    m.program = true;
    m.unnamed = 0;
    for (auto& [address, allocation] : m.allocations) {
        allocation->by_program = false;
        if (!allocation->freed) note(*allocation);
    }
}

}  // namespace emu
