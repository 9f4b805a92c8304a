// Keeping the shadow in step with allocations, blocks and what the host writes.
#include "shadow/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "counters/counters.h"
#include "memory/shared.h"
#include "observe/observer.h"
#include "shadow/copies.h"

namespace emu {

constexpr Shadow kEmpty{};
Shadow shadow_of_device = kEmpty;

namespace {

constexpr uint32_t kMaxExtents = 1 << 20;

std::vector<uint32_t>& free_extents() {
    static auto* instance = new std::vector<uint32_t>;
    return *instance;
}

void* reserve_pages(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

bool ready() {
    Shadow& s = shadow();
    if (s.arena.bytes) return true;
    const Range range = arena();
    if (!range.begin) return false;
    s.arena.begin = reinterpret_cast<uintptr_t>(range.begin);
    s.arena.bytes = static_cast<size_t>(range.end - range.begin);
    s.arena.written.reserve(s.arena.bytes);
    s.owners = static_cast<uint32_t*>(reserve_pages((s.arena.bytes / kGranule + 1) * sizeof(uint32_t)));
    s.extents = static_cast<Extent*>(reserve_pages(kMaxExtents * sizeof(Extent)));
    s.extent_count = 1;
    if (!s.owners || !s.extents || !s.arena.written.reserved()) s.arena = Region{};
    return s.arena.bytes != 0;
}

void own(const Allocation& allocation, uint32_t owner) {
    Shadow& s = shadow();
    const size_t first = s.arena.offset(reinterpret_cast<uintptr_t>(allocation.address)) / kGranule;
    const size_t granules = (allocation.bytes + kGranule - 1) / kGranule;
    std::fill_n(s.owners + first, std::max<size_t>(granules, 1), owner);
}

uint32_t owner_of(const Allocation& allocation) {
    Shadow& s = shadow();
    return s.owners[s.arena.offset(reinterpret_cast<uintptr_t>(allocation.address)) / kGranule];
}

bool in_arena(const Allocation& allocation) {
    return ready() && shadow().arena.contains(reinterpret_cast<uintptr_t>(allocation.address));
}

}  // namespace

void BitMap::reserve(size_t bytes_of_memory) {
    bytes_ = bytes_of_memory / 8 + 8;
    words_ = static_cast<unsigned char*>(reserve_pages(bytes_));
}

bool BitMap::range_all(size_t offset, size_t bytes) const {
    for (size_t end = offset + bytes; offset < end;) {
        const size_t step = std::min<size_t>(end - offset, 8 - (offset & 7));
        if (!all(offset, static_cast<unsigned>(step))) return false;
        offset += step;
    }
    return true;
}

bool BitMap::range_none(size_t offset, size_t bytes) const {
    for (const size_t end = offset + bytes; offset < end;) {
        if (!(offset & 7) && end - offset >= 64) {
            uint64_t bits = 0;
            std::memcpy(&bits, words_ + (offset >> 3), sizeof bits);
            if (bits) return false;
            offset += 64;
            continue;
        }
        if (all(offset, 1)) return false;
        ++offset;
    }
    return true;
}

void BitMap::set_range(size_t offset, size_t bytes, bool value) {
    const size_t end = offset + bytes;
    auto assign = [&](size_t at, size_t count) {
        const unsigned bits = mask(static_cast<unsigned>(count)) << (at & 7);
        unsigned char& word = words_[at >> 3];
        word = static_cast<unsigned char>(value ? word | bits : word & ~bits);
    };
    if (offset & 7) {
        const size_t head = std::min<size_t>(bytes, 8 - (offset & 7));
        assign(offset, head);
        offset += head;
    }
    if (offset >= end) return;
    std::memset(words_ + (offset >> 3), value ? 0xFF : 0, (end - offset) >> 3);
    const size_t tail = (end - offset) & 7;
    if (tail) assign(end - tail, tail);
}

uint64_t BitMap::take_count(size_t offset, size_t bytes) {
    uint64_t count = 0;
    unsigned char* word = words_ + (offset >> 3);
    for (size_t left = (bytes + 7) / 8; left > 0;) {
        uint64_t bits = 0;
        const size_t step = std::min<size_t>(left, 8);
        std::memcpy(&bits, word, step);
        count += static_cast<uint64_t>(__builtin_popcountll(bits));
        if (bits) std::memset(word, 0, step);
        word += step;
        left -= step;
    }
    return count;
}

namespace {

uint32_t take_extent() {
    auto& free = free_extents();
    if (free.empty()) return shadow().extent_count < kMaxExtents ? shadow().extent_count++ : kMaxExtents - 1;
    const uint32_t owner = free.back();
    free.pop_back();
    return owner;
}

void ready_shared(const Block& block) {
    Region& shared = shadow().shared;
    if (shared.bytes) return;
    shared.begin = reinterpret_cast<uintptr_t>(block.shared) - kSharedRedZone;
    shared.bytes = block.shared_capacity + kSharedRedZone;
    shared.valid.reserve(shared.bytes);
    shared.written.reserve(shared.bytes);
}

}  // namespace

std::vector<SharedVariable>& shared_variables() {
    static auto* instance = new std::vector<SharedVariable>;
    return *instance;
}

void on_allocate(Allocation& allocation) {
    if (!in_arena(allocation)) return;
    Shadow& s = shadow();
    const size_t begin = s.arena.offset(reinterpret_cast<uintptr_t>(allocation.address));
    const uint32_t owner = take_extent();
    s.extents[owner] = Extent{begin, begin + allocation.bytes, begin};
    own(allocation, owner);
    unwritten_forget(s.arena.begin + begin, allocation.bytes);
    if (counters.read.reserved()) {  // what was touched here astray, before it was anybody's, is no traffic of this one
        counters.read.set_range(begin, allocation.bytes, false);
        counters.written.set_range(begin, allocation.bytes, false);
    }
    // the host may write memory that it shares with the device where no hook sees it
    s.arena.written.set_range(begin, allocation.bytes, allocation.kind != AllocationKind::Device);
    s.high = std::max(s.high, begin + allocation.bytes);
}

void on_free(Allocation& allocation) {
    if (!in_arena(allocation)) return;
    Extent& extent = shadow().extents[owner_of(allocation)];
    extent.begin = extent.end = 0;
}

void on_recycle(Allocation& allocation) {
    if (!in_arena(allocation)) return;
    const uint32_t owner = owner_of(allocation);
    if (!owner) return;
    shadow().extents[owner] = Extent{};
    free_extents().push_back(owner);
    own(allocation, 0);
}

void on_host_write(const void* address, size_t bytes) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (ready() && shadow().arena.contains(at)) shadow().arena.written.set_range(shadow().arena.offset(at), bytes, true);
}

void on_host_read(const void* address, size_t bytes) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (ready() && shadow().arena.contains(at)) unwritten_leaves(at, bytes);
}

void on_symbol(SymbolRecord& symbol) {
    Region& symbols = shadow().symbols;
    const auto begin = reinterpret_cast<uintptr_t>(symbol.address);
    const uintptr_t end = std::max(begin + symbol.bytes, symbols.begin + symbols.bytes);
    // cells begin at whole words
    symbols.begin = std::min(symbols.bytes ? symbols.begin : UINTPTR_MAX, begin & ~uintptr_t{7});
    symbols.bytes = end - symbols.begin;
}

void shadow_launch() {
    Shadow& s = shadow();
    if (s.shared.bytes) s.shared.valid.set_range(0, s.shared_high, false);
    shared_variables().clear();
    ready();
}

void shadow_block(Block& block) {
    Shadow& s = shadow();
    ready_shared(block);
    s.shared.written.set_range(0, s.shared_high, false);
}

std::vector<unsigned char> shared_written() { return shadow().shared.written.copy(shadow().shared_high); }

void restore_shared_written(const std::vector<unsigned char>& kept) {
    Shadow& s = shadow();
    s.shared.written.set_range(0, s.shared_high, false);
    s.shared.written.put(kept);
}

void shadow_shared(Block& block, unsigned char* address, size_t bytes, const char* name) {
    ready_shared(block);
    Shadow& s = shadow();
    const size_t offset = s.shared.offset(reinterpret_cast<uintptr_t>(address));
    s.shared.valid.set_range(offset, bytes, true);
    shared_variables().push_back(SharedVariable{name ? name : "shared memory", offset, bytes});
    s.shared_high = std::max(s.shared_high, offset + bytes);
}

}  // namespace emu
