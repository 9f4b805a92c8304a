#include "shadow/unwritten.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "run/defects.h"
#include "run/state.h"
#include "shadow/copies.h"
#include "shadow/tags.h"
#include "shadow/twins.h"

namespace emu {

bool holds_unwritten = false;

namespace {

constexpr size_t kMaxHeld = 1024;  // words a thread may hold: four times its registers
constexpr unsigned kWordBytes = 4;

struct Word {
    Access access;     // that read it
    Index block;
    Index thread;
    unsigned holder;   // the thread's number in the block
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
    bool atomic;
};

/// Reads at one place of what was then used, by the running block.
struct Used {
    Word first;
    uint64_t count;
};

struct Held {
    std::vector<Word> words[kMaxThreads];
    std::vector<Used> used;
    std::vector<Word> first;           // of each place that the running block read
    std::vector<Word> read;            // just now: what becomes of it is being found out
    std::map<uint64_t, std::vector<Word>> aside;  // words of blocks that wait for the others of their grid
    std::vector<StoreSeen> stores;
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

bool is_small(Filling filling) { return filling == Filling::FromZero || filling == Filling::FromOne; }

uint32_t new_tag(const Access& access, unsigned offset) {
    const uint32_t number = ++held().tags;
    const bool upper = access.bytes >= 8 && offset % 8 == kWordBytes;
    const Filling filling = twins_filling(access.pc);
    if (is_small(filling)) return next_small();
    return (filling == Filling::Finite ? finite_tag : usual_tag)(access.bytes, upper, number);
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

// Whether it matters is known at the block's end.
void note_used(Word& word) {
    word.settled = true;
    for (Used& used : held().used) {
        if (used.first.access.pc != word.access.pc) continue;
        ++used.count;
        return;
    }
    held().used.push_back(Used{word, 1});
}

// What was used is a fault unless nothing came of it; what was only copied, or is part of a struct, where it decided.
void judge() {
    Held& h = held();
    for (const Used& used : h.used) {
        if (twins_fate(used.first.access.pc) == Fate::Spent) continue;
        for (uint64_t i = 0; i < used.count; ++i) report_unwritten(used.first.access, used.first.block, used.first.thread);
    }
    for (const Word& word : h.first) {
        auto same = [&](const Used& used) { return used.first.access.pc == word.access.pc; };
        if (std::any_of(h.used.begin(), h.used.end(), same)) continue;
        if (twins_fate(word.access.pc) == Fate::Decided) report_unwritten(word.access, word.block, word.thread);
    }
    h.used.clear();
    h.first.clear();
}

void forget(std::vector<Word>& words, size_t count, bool used) {
    for (size_t i = 0; i < count; ++i) {
        if (used && !words[i].settled) note_used(words[i]);
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
    const unsigned first = thread / kWarpLanes * kWarpLanes;
    for (unsigned lane = first; is_tag(value, in_twin()) && lane < first + kWarpLanes; ++lane) {
        if (Word* word = find(held().words[lane], value, kWordBytes)) return word;
    }
    return nullptr;
}

// Arithmetic on a signalling NaN makes a quiet one of it.
Word* find_derived(unsigned thread, uint32_t value) {
    const uint32_t before = made_quiet_of(value);
    return before ? find(held().words[thread], before, kWordBytes) : nullptr;
}

void note_first(const Word& word) {
    for (const Word& known : held().first) {
        if (known.access.pc == word.access.pc) return;
    }
    held().first.push_back(word);
}

bool has_ended(const Block& block, unsigned thread) {
    if (thread >= block.thread_count) return true;
    return block.warps[thread / kWarpLanes].exited >> thread % kWarpLanes & 1;
}

// The launch was ended before the thread was.
void report_undecided(const Word& word) {
    if (twins_fate(word.access.pc) == Fate::Spent) return;
    Defect defect = unwritten_defect(word.access);
    defect.severity = kWarning;
    defect.text += "; the launch ended before it was seen what becomes of it";
    defect.placed = true;
    defect.block = word.block;
    defect.thread = word.thread;
    report(std::move(defect));
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
    if (allocation && word.missing == (1u << word.width) - 1) note_copy(Copied{word.access, word.block, word.thread, to, word.width});
}

void match(const StoreSeen& store, uintptr_t address, unsigned width) {
    const uint32_t value = load(address, width);
    if (store.atomic || !region_of(address)) return trace_store(address, value);
    Word* word = find(held().words[store.thread], value, width);
    if (!word && width == kWordBytes) word = find_in_warp(store.thread, value);
    if (word) {
        word->settled = true;
        unwrite(*word, address);
        return;
    }
    trace_store(address, value);
    if (width == kWordBytes && (word = find_derived(store.thread, value))) note_used(*word);
}

}  // namespace

InPieces::InPieces() {
    if (holds_unwritten) settle_unwritten();
    ++held().pieces;
}
InPieces::~InPieces() { --held().pieces; }

void read_unwritten(Region& region, const Access& access) {
    if (in_share) give_up_share();
    // an atomic changes what is there, and a volatile read is waited for; what a driver's call reads is all of a contract
    if (!has_own_main || access.atomic || access.is_volatile || access.told) {
        return report_unwritten(access, running_block->index, running_thread->index);
    }
    Held& h = held();
    if (h.whole_copy || seen_again("uninitialized_read", access.pc)) return;
    holds_unwritten = true;
    h.last_thread = running_thread->linear;
    h.read.assign(1, Word{access, running_block->index, running_thread->index, h.last_thread, 0, 0, 0, 0, false});
    twins_read(access.pc);
    h.read.clear();
    auto& words = h.words[h.last_thread];
    if (words.size() >= kMaxHeld && !h.pieces) forget(words, kMaxHeld / 2, true);
    const unsigned width = std::min(access.bytes, kWordBytes);
    const size_t first = words.size();
    bool whole = true;
    for (unsigned offset = 0; offset < access.bytes; offset += width) {
        Word word{access, running_block->index, running_thread->index, h.last_thread, offset, width, 0, 0, false};
        const uintptr_t address = access.address + offset;
        const uint32_t tag = new_tag(access, offset);
        for (unsigned i = 0; i < width; ++i) {
            if (region.written.all(region.offset(address + i), 1)) continue;
            word.missing = static_cast<uint8_t>(word.missing | 1u << i);
            *reinterpret_cast<unsigned char*>(address + i) = static_cast<unsigned char>(tag >> 8 * i);
        }
        word.value = load(address, width);
        if (is_small(twins_filling(access.pc))) word.width = 0;  // no store is known by it
        if (word.missing) words.push_back(word);
        whole = whole && word.missing == (1u << width) - 1;
    }
    if (first < words.size()) note_first(words[first]);
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
    trace_access(access);
    if (access.write) watch_store(access.address, access.bytes, access.atomic);
}

void watch_store(uintptr_t address, size_t bytes, bool atomic) {
    if (!region_of(address) && running_stack().contains(reinterpret_cast<const void*>(address))) return;
    held().stores.push_back(StoreSeen{address, static_cast<unsigned>(bytes), running_thread->linear, atomic});
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
    held().tags = 0;
    copies_launch();
}

void unwritten_block_end(const Block& block) {
    Held& h = held();
    if (!block.live) settle_unwritten();
    h.stores.clear();
    twin_ends();
    for (unsigned i = 0; i < kMaxThreads; ++i) {
        if (!h.words[i].empty()) forget(h.words[i], h.words[i].size(), has_ended(block, i) || i == h.last_thread);
    }
    judge();
    twins_block_end();
    holds_unwritten = false;
}

void unwritten_aside(const Block& block) {
    Held& h = held();
    settle_unwritten();
    twin_ends(true);
    std::vector<Word>& kept = h.aside[block.linear];
    for (unsigned i = 0; i < kMaxThreads; ++i) {
        if (h.words[i].empty()) continue;
        if (has_ended(block, i)) {
            forget(h.words[i], h.words[i].size(), true);
            continue;
        }
        for (Word& word : h.words[i]) {
            // used in this part of the block, or of no consequence in it
            if (!word.settled && twins_fate(word.access.pc) != Fate::Unknown) note_used(word);
            kept.push_back(word);
        }
        h.words[i].clear();
    }
    judge();
    twins_block_end();
    holds_unwritten = false;
}

void unwritten_resume(const Block& block) {
    Held& h = held();
    auto kept = h.aside.find(block.linear);
    if (kept == h.aside.end()) return;
    for (const Word& word : kept->second) h.words[word.holder].push_back(word);
    holds_unwritten = !kept->second.empty();
    h.aside.erase(kept);
}

void unwritten_cut_off() {
    Held& h = held();
    h.stores.clear();
    twin_ends();
    std::vector<Word> open = h.read;
    for (auto& [block, words] : h.aside) open.insert(open.end(), words.begin(), words.end());
    h.aside.clear();
    for (unsigned i = 0; holds_unwritten && running_block && i < kMaxThreads; ++i) {
        if (!has_ended(*running_block, i) && i != h.last_thread) {
            open.insert(open.end(), h.words[i].begin(), h.words[i].end());
            h.words[i].clear();
        }
        if (!h.words[i].empty()) forget(h.words[i], h.words[i].size(), true);
    }
    judge();
    for (const Word& word : open) {
        if (!word.settled && !seen_again("uninitialized_read", word.access.pc)) report_undecided(word);
    }
    holds_unwritten = false;
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
