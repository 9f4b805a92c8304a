// The words for a race, and whether it changed anything.
#include <cstring>

#include "races/races.h"
#include "run/defects.h"
#include "run/state.h"

namespace emu {

namespace {

constexpr unsigned kMaxCompared = 16;  // bytes of one access

/// A write that raced with a write: whether it changes anything is known once it is done. Or a read that raced with an
/// atomic: it is but a guess when an atomic of the same thread on the same place follows at once.
struct Unsettled {
    Defect defect;
    const Thread* reader;  // null: a write
    const unsigned char* address;
    unsigned bytes;
    unsigned char before[kMaxCompared];
};
Unsettled& unsettled() {
    static auto* instance = new Unsettled;
    return *instance;
}

Index index_in(uint64_t linear, const Index& shape) {
    return Index{static_cast<unsigned>(linear % shape.x), static_cast<unsigned>(linear / shape.x % shape.y),
                 static_cast<unsigned>(linear / shape.x / shape.y)};
}

std::string text_of(const Index& i) {
    return "(" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
}

OtherSide other_side(Mark mark) {
    const Launch& launch = *running_block->launch;
    OtherSide other;
    other.known = true;
    other.access = mark & kWrite ? "write" : "read";
    other.block = index_in(block_of(segment_of(mark)), launch.grid);
    other.thread = index_in((mark & kThreadBits) >> kLaneShift, launch.block);
    other.pc = reinterpret_cast<const void*>(module_begin + (mark & kPlaceBits));
    return other;
}

bool is_same_block(Mark mark) { return segment_of(mark) >= races.block; }

std::string describe(Mark mark, const Access& access, const Place& place, const OtherSide& other) {
    std::string text = std::string(access.verb()) + " of " + std::to_string(access.bytes) +
                       (access.bytes == 1 ? " byte" : " bytes") + " at byte " + std::to_string(place.offset) + " of `" +
                       place.name + "` races with the " + other.access + " of thread " + text_of(other.thread);
    if (!is_same_block(mark)) {
        return text + " of block " + text_of(other.block) + ": no fence and atomic order the two blocks";
    }
    const bool same_warp = warp_of(mark) == running_thread->warp->number;
    return text + (same_warp ? " of the same warp: no __syncwarp or barrier orders them"
                             : " of the same block: no barrier orders them");
}

// an atomic and a plain access; a volatile one is as plain as any when it passes no message
const char* severity_of(Mark mark, const Access& access) {
    return (access.atomic || (!access.strong && (mark & kStrong) && !access.is_volatile)) ? kWarning : kError;
}

KeptDefect* kept_like(const Defect& defect) {
    for (KeptDefect& kept : state().defects) {
        const Defect& d = kept.defect;
        if (d.pc == defect.pc && d.other.pc == defect.other.pc && std::strcmp(d.kind, defect.kind) == 0) return &kept;
    }
    return nullptr;
}

/// Whether the read at `read` has been found to be but a guess, which the atomic at `atomic` decides.
bool is_guess(const void* read, const void* atomic) {
    for (const KeptDefect& kept : state().defects) {
        const Defect& d = kept.defect;
        if (d.pc == read && d.other.pc == atomic) return std::strcmp(d.severity, kInfo) == 0;
    }
    return false;
}

/// Whether an equal race is kept already with a severity that this one cannot raise.
bool is_known(const char* kind, bool may_be_harmless, const void* pc, const void* other_pc) {
    if (!may_be_harmless) return seen_again(kind, pc, other_pc);
    Defect like;
    like.kind = kind;
    like.pc = pc;
    like.other.pc = other_pc;
    const KeptDefect* kept = kept_like(like);
    return kept && std::strcmp(kept->defect.severity, kInfo) != 0 && seen_again(kind, pc, other_pc);
}

void keep_or_raise(Defect defect) {
    KeptDefect* kept = kept_like(defect);
    if (kept && std::strcmp(kept->defect.severity, kInfo) == 0 && std::strcmp(defect.severity, kInfo) != 0) {
        kept->defect.severity = defect.severity;
        kept->defect.text = defect.text;
    }
    report(std::move(defect));
}

void wait_for_end(Defect defect, const Access& access) {
    Unsettled& u = unsettled();
    u.reader = access.write ? nullptr : running_thread;
    u.defect = std::move(defect);
    u.defect.placed = true;
    u.defect.block = running_block->index;
    u.defect.thread = running_thread->index;
    u.address = reinterpret_cast<const unsigned char*>(access.address);
    u.bytes = access.bytes < kMaxCompared ? access.bytes : kMaxCompared;
    std::memcpy(u.before, u.address, u.bytes);
    races.unsettled = true;
}

}  // namespace

void report_race(Mark mark, const Access& access) {
    if (races.unsettled) settle_race();
    const char* kind = shadow().shared.contains(access.address) ? "shared_race" : "global_race";
    const bool guess = !access.write && !access.strong && !access.is_volatile && (mark & kStrong);
    const bool may_be_harmless = guess || (access.write && !access.atomic && (mark & kWrite) && !(mark & kStrong));
    OtherSide other = other_side(mark);
    if (is_known(kind, may_be_harmless, access.pc, other.pc)) return;
    const Place place = place_of(access.address);
    Defect defect;
    defect.kind = kind;
    const bool guessed = access.atomic && !(mark & (kStrong | kWrite)) && is_guess(other.pc, access.pc);
    defect.severity = guessed ? kInfo : severity_of(mark, access);
    defect.other = other;
    defect.text = describe(mark, access, place, defect.other);
    defect.pc = access.pc;
    defect.space = place.space;
    defect.access = access.verb();
    defect.bytes = access.bytes;
    defect.buffer = place.name;
    defect.offset = place.offset;
    if (may_be_harmless) wait_for_end(std::move(defect), access);
    else keep_or_raise(std::move(defect));
}

void settle_race(const Access* next) {
    races.unsettled = false;
    Unsettled& u = unsettled();
    const auto address = reinterpret_cast<uintptr_t>(u.address);
    if (u.reader) {
        if (next && next->atomic && next->write && next->address == address && running_thread == u.reader) {
            u.defect.severity = kInfo;
            u.defect.text += "; an atomic that follows decides";
        }
    } else if (std::memcmp(u.before, u.address, u.bytes) == 0) {
        u.defect.severity = kInfo;
        u.defect.text += "; both write the same value";
    }
    keep_or_raise(std::move(u.defect));
}

}  // namespace emu
