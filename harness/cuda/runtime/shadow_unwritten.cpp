#include "shadow_unwritten.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "defects.h"
#include "state.h"

namespace emu {

bool holds_unwritten = false;

namespace {

constexpr size_t kMaxHeld = 1024;  // words a thread may hold: four times its registers
constexpr size_t kMaxSources = 64;
constexpr unsigned kWordBytes = 4;
// the top bytes of a signalling NaN as float and bfloat16, and of its second half as half
constexpr uint32_t kTag = 0xFF80FD00, kTagBits = 0xFFC0FF00, kQuiet = 0x00400000;
// of the upper word of one as double
constexpr uint32_t kUpperTag = 0xFFF0FD00, kUpperTagBits = 0xFFF8FF00, kUpperQuiet = 0x00080000;

struct Word {
    Access access;     // that read it
    Index block;
    Index thread;
    unsigned offset;   // in the access
    unsigned width;    // 1, 2 or 4 bytes
    uint32_t value;    // as the thread got it
    uint8_t missing;   // its bytes without a value, a bit each
    bool settled;      // copied, reported, or part of a struct of which another part has a value
};

struct StoreSeen {
    uintptr_t address;
    unsigned bytes;
    unsigned thread;
};

/// Copies of variables in which nothing had been written: a fault if the host takes them for a result.
struct Source {
    Defect defect;     // of the read
    uintptr_t begin;   // where copies of it lie
    uintptr_t end;
};

struct Held {
    std::vector<Word> words[kMaxThreads];
    std::vector<StoreSeen> stores;
    std::vector<Source> sources;
    std::vector<const void*> partial;  // reads of this launch of variables that are written in part
    unsigned pieces = 0;
    bool whole_copy = false;
    unsigned last_thread = 0;
    uint32_t tags = 0;
};
Held& held() {
    static auto* instance = new Held;
    return *instance;
}

Region* region_of(uintptr_t address) {
    Shadow& s = shadow();
    return s.arena.contains(address) ? &s.arena : s.shared.contains(address) ? &s.shared : nullptr;
}

uint32_t new_tag(const Access& access, unsigned offset) {
    const uint32_t number = ++held().tags, low = number & 0xFF;
    // a byte is none that counts or truth values take; a half word is a signalling NaN as half, or as bfloat16
    if (access.bytes == 1) return 0x81 + low % 0x7E;
    if (access.bytes == 2) return number & 1 ? 0xFD00 | low : 0xFF81 + low % 0x3F;
    const bool upper = access.bytes >= 8 && offset % 8 == kWordBytes;
    const uint32_t high = number >> 8;
    return upper ? kUpperTag | (1 + high % 7) << 16 | low : kTag | (1 + high % 0x3F) << 16 | low;
}

uint32_t load(uintptr_t address, unsigned width) {
    uint32_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(address), width);
    return value;
}

// Poison again what has no value.
void poison(const Word& word) {
    const uintptr_t address = word.access.address + word.offset;
    Region* region = region_of(address);
    for (unsigned i = 0; region && i < word.width; ++i) {
        if (!(word.missing >> i & 1) || region->written.all(region->offset(address + i), 1)) continue;
        *reinterpret_cast<unsigned char*>(address + i) = 0xFF;
    }
}

void report_used(Word& word) {
    word.settled = true;
    report_unwritten(word.access, word.block, word.thread);
}

void forget(std::vector<Word>& words, size_t count, bool used) {
    for (size_t i = 0; i < count; ++i) {
        if (used && !words[i].settled) report_used(words[i]);
        poison(words[i]);
    }
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
}

Word* find(std::vector<Word>& words, uint32_t value, unsigned width) {
    Word* settled = nullptr;
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
        if (word->value != value || word->width != width) continue;
        if (!word->settled) return &*word;
        if (!settled) settled = &*word;
    }
    return settled;
}

// A shuffle may have brought it from another lane.
Word* find_in_warp(unsigned thread, uint32_t value) {
    const bool tagged = (value & kTagBits) == kTag || (value & kUpperTagBits) == kUpperTag;
    const unsigned first = thread / kWarpLanes * kWarpLanes;
    for (unsigned lane = first; tagged && lane < first + kWarpLanes; ++lane) {
        if (Word* word = find(held().words[lane], value, kWordBytes)) return word;
    }
    return nullptr;
}

// Arithmetic on a signalling NaN makes a quiet one of it.
Word* find_derived(unsigned thread, uint32_t value) {
    auto& words = held().words[thread];
    if ((value & kTagBits) == (kTag | kQuiet)) return find(words, value & ~kQuiet, kWordBytes);
    if ((value & kUpperTagBits) == (kUpperTag | kUpperQuiet)) return find(words, value & ~kUpperQuiet, kWordBytes);
    return nullptr;
}

bool nothing_written(uintptr_t address) {
    Shadow& s = shadow();
    if (s.arena.contains(address)) {
        const Extent& extent = s.extent_at(s.arena.offset(address));
        return extent.end > extent.begin && s.arena.written.range_none(extent.begin, extent.end - extent.begin);
    }
    const size_t offset = s.shared.offset(address);
    for (const SharedVariable& variable : shared_variables()) {
        if (offset - variable.offset < variable.bytes) return s.shared.written.range_none(variable.offset, variable.bytes);
    }
    return false;
}

void note_source(const Word& word, uintptr_t to) {
    Held& h = held();
    for (Source& source : h.sources) {
        if (source.defect.pc != word.access.pc || to + kMaxHeld < source.begin || to > source.end + kMaxHeld) continue;
        source.begin = std::min(source.begin, to);
        source.end = std::max<uintptr_t>(source.end, to + word.width);
        return;
    }
    if (h.sources.size() >= kMaxSources) return;
    if (std::find(h.partial.begin(), h.partial.end(), word.access.pc) != h.partial.end()) return;
    if (!nothing_written(word.access.address)) {
        h.partial.push_back(word.access.pc);
        return;
    }
    // nothing but this copy will ever tell of shared memory
    if (shadow().shared.contains(word.access.address)) report_unwritten(word.access, word.block, word.thread);
    else h.sources.push_back(Source{unwritten_defect(word.access), to, to + word.width});
}

// Where a word without a value was stored, there is none either.
void unwrite(const Word& word, uintptr_t to) {
    Region* region = region_of(to);
    const Allocation* allocation = region == &shadow().arena ? find_allocation(reinterpret_cast<const void*>(to)) : nullptr;
    // the host may write memory that it shares with the device where no hook sees it
    if (allocation && allocation->kind != AllocationKind::Device) return;
    for (unsigned i = 0; i < word.width; ++i) {
        if (!(word.missing >> i & 1)) continue;
        region->written.set_range(region->offset(to + i), 1, false);
        *reinterpret_cast<unsigned char*>(to + i) = 0xFF;
    }
    if (allocation && word.missing == (1u << word.width) - 1) note_source(word, to);
}

void match(const StoreSeen& store, uintptr_t address, unsigned width) {
    const uint32_t value = load(address, width);
    Word* word = find(held().words[store.thread], value, width);
    if (!word && width == kWordBytes) word = find_in_warp(store.thread, value);
    if (word) {
        word->settled = true;
        unwrite(*word, address);
    } else if (width == kWordBytes && (word = find_derived(store.thread, value))) {
        report_used(*word);
    }
}

}  // namespace

InPieces::InPieces() {
    if (holds_unwritten) settle_unwritten();
    ++held().pieces;
}
InPieces::~InPieces() { --held().pieces; }

void read_unwritten(Region& region, const Access& access) {
    // an atomic changes what is there, and a volatile read is waited for; what a driver's call reads is all of a contract
    if (!has_own_main || access.atomic || access.is_volatile || access.told) {
        return report_unwritten(access, running_block->index, running_thread->index);
    }
    Held& h = held();
    if (h.whole_copy || seen_again("uninitialized_read", access.pc)) return;
    holds_unwritten = true;
    h.last_thread = running_thread->linear;
    auto& words = h.words[h.last_thread];
    if (words.size() >= kMaxHeld && !h.pieces) forget(words, kMaxHeld / 2, true);
    const unsigned width = std::min(access.bytes, kWordBytes);
    const size_t first = words.size();
    bool whole = true;
    for (unsigned offset = 0; offset < access.bytes; offset += width) {
        Word word{access, running_block->index, running_thread->index, offset, width, 0, 0, false};
        const uintptr_t address = access.address + offset;
        const uint32_t tag = new_tag(access, offset);
        for (unsigned i = 0; i < width; ++i) {
            if (region.written.all(region.offset(address + i), 1)) continue;
            word.missing = static_cast<uint8_t>(word.missing | 1u << i);
            *reinterpret_cast<unsigned char*>(address + i) = static_cast<unsigned char>(tag >> 8 * i);
        }
        word.value = load(address, width);
        if (word.missing) words.push_back(word);
        whole = whole && word.missing == (1u << width) - 1;
    }
    // who loads a struct may use the part that has a value
    for (size_t i = first; !whole && i < words.size(); ++i) words[i].settled = true;
}

void read_in_pieces(uintptr_t address, size_t bytes) {
    const Region* region = region_of(address);
    if (!region || region->written.range_none(region->offset(address), bytes)) return;
    for (Word& word : held().words[running_thread->linear]) {
        if (word.access.address - address < bytes) word.settled = true;
    }
}

void watch_unwritten(const Access& access) {
    Held& h = held();
    if (!h.pieces) settle_unwritten();
    h.last_thread = running_thread->linear;
    if (access.write && !access.atomic) watch_store(access.address, access.bytes);
}

void watch_store(uintptr_t address, size_t bytes) {
    if (!region_of(address)) return;
    held().stores.push_back(StoreSeen{address, static_cast<unsigned>(bytes), running_thread->linear});
}

void settle_unwritten() {
    auto& stores = held().stores;
    for (const StoreSeen& store : stores) {
        const unsigned width = std::min(store.bytes, kWordBytes);
        for (unsigned at = 0; at + width <= store.bytes; at += width) match(store, store.address + at, width);
    }
    stores.clear();
}

void unwritten_launch() {
    Held& h = held();
    h.partial.clear();
    h.tags = 0;
}

void unwritten_block_end(const Block& block) {
    Held& h = held();
    if (!block.live) settle_unwritten();
    h.stores.clear();
    for (unsigned i = 0; i < kMaxThreads; ++i) {
        if (!h.words[i].empty()) forget(h.words[i], h.words[i].size(), !block.live || i == h.last_thread);
    }
    holds_unwritten = false;
}

void unwritten_start() { held().sources.clear(); }

void unwritten_forget(uintptr_t address, size_t bytes) {
    auto& sources = held().sources;
    auto lies_there = [=](const Source& s) { return s.begin < address + bytes && address < s.end; };
    sources.erase(std::remove_if(sources.begin(), sources.end(), lies_there), sources.end());
}

void unwritten_leaves(uintptr_t address, size_t bytes) {
    auto& sources = held().sources;
    const Region& arena = shadow().arena;
    for (auto source = sources.begin(); source != sources.end();) {
        const uintptr_t begin = std::max(source->begin, address), end = std::min(source->end, address + bytes);
        if (begin >= end || arena.written.range_all(arena.offset(begin), end - begin)) {
            ++source;
            continue;
        }
        source->defect.text += "; the host reads a copy of it";
        report(source->defect);
        source = sources.erase(source);
    }
}

WholeCopy::WholeCopy(const void* to, const void* from, size_t bytes)
    : to_(reinterpret_cast<uintptr_t>(to)), from_(reinterpret_cast<uintptr_t>(from)), bytes_(0) {
    const Region *target = region_of(to_), *source = region_of(from_);
    if (!running_thread || !target || !source || from_ + bytes > source->begin + source->bytes) return;
    if (source->written.range_all(source->offset(from_), bytes)) return;
    bytes_ = bytes;
    held().whole_copy = true;
}

WholeCopy::~WholeCopy() {
    if (!bytes_) return;
    held().whole_copy = false;
    Region *target = region_of(to_), *source = region_of(from_);
    for (size_t i = 0; i < bytes_; ++i) {
        if (source->written.all(source->offset(from_ + i), 1)) continue;
        target->written.set_range(target->offset(to_ + i), 1, false);
    }
}

}  // namespace emu
