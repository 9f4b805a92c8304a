// Meetings of a warp's lanes: the one primitive of all warp collectives.
#include "schedule/meeting.h"

#include <cstring>

#include "observe/observer.h"
#include "schedule/scheduler.h"

namespace emu {

namespace {

bool same_word(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }

// A table that no lane waits at, and none may still read: a lane holds one at most, so one of the 32 is free.
[[gnu::noinline]] Table& open_table(Warp& warp, unsigned lane, uint32_t mask, unsigned bytes, const char* what) {
    warp.holds[lane] = kNoTable;
    uint64_t used = 0;
    for (uint8_t number : warp.holds) used |= uint64_t{1} << number;
    const auto free = static_cast<unsigned>(__builtin_ctzll(~used));
    warp.open_tables |= 1u << free;
    Table& table = warp.tables[free];
    table.mask = mask;
    table.present = 0;
    table.number = free;
    table.bytes = bytes;
    table.what = what;
    warp.newest = &table;
    return table;
}

inline bool fits(const Table& table, uint32_t mask, unsigned bytes, const char* what) {
    return table.mask == mask && table.bytes == bytes && same_word(table.what, what);
}

[[gnu::noinline]] Table& other_table(Warp& warp, unsigned lane, uint32_t mask, unsigned bytes, const char* what) {
    for (uint32_t open = warp.open_tables; open; open &= open - 1) {
        Table& table = warp.tables[__builtin_ctz(open)];
        if (fits(table, mask, bytes, what)) return table;
    }
    return open_table(warp, lane, mask, bytes, what);
}

// A copy whose length is known costs no call.
inline void deposit(unsigned char* place, const void* value, unsigned bytes) {
    if (bytes == 8) std::memcpy(place, value, 8);
    else if (bytes == 4) std::memcpy(place, value, 4);
    else std::memcpy(place, value, bytes);
}

inline bool complete(const Warp& warp, const Table& table) {
    return ((table.present ^ warp.live()) & table.mask) == 0;
}

[[gnu::noinline]] void close(Warp& warp, Table& table, Thread& last) {
    // who takes the value of a lane that is not there gets no number
    for (uint32_t absent = ~table.present; absent; absent &= absent - 1) {
        std::memset(table.deposits + __builtin_ctz(absent) * table.bytes, 0xFF, table.bytes);
    }
    warp.open_tables &= ~(1u << table.number);
    if (warp.newest == &table) warp.newest = nullptr;
    ++progress;
    ++warp.block->launch->record.warp_meetings;
    on_warp_meeting(last, table.mask & warp.exists, table.present);
    Scheduler::wake(warp, table.present);
}

[[gnu::noinline]] void left_out(const Thread& thread, uint32_t mask, const char* what, Site site) {
    Defect defect;
    defect.kind = "inactive_lane";
    defect.text = std::string(what) + " is called by lane " + std::to_string(thread.lane) + ", which its mask " +
                  hexadecimal(mask) + " leaves out";
    defect.site = site;
    report(defect);
}

}  // namespace

std::string hexadecimal(uint32_t mask) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", mask);
    return text;
}

Table* new_tables() { return new Table[kMaxWarps * kWarpLanes]; }

void complete_meetings_without(Thread& exited) {
    Warp& warp = *exited.warp;
    warp.holds[exited.lane] = kNoTable;
    for (uint32_t open = warp.open_tables; open; open &= open - 1) {
        Table& table = warp.tables[__builtin_ctz(open)];
        if (complete(warp, table)) close(warp, table, exited);
    }
}

Meeting exchange(uint32_t mask, const void* mine, unsigned bytes, const char* what, Site site) {
    if (!running_thread) unsupported(what, site);
    may_preempt();
    Thread& thread = *running_thread;
    Warp& warp = *thread.warp;
    const uint32_t own = 1u << thread.lane;
    if (!(mask & own)) {
        left_out(thread, mask, what, site);
        mask = own;
    }
    Table* newest = warp.newest;
    const bool joined = newest && fits(*newest, mask, bytes, what);
    Table& table = joined ? *newest : other_table(warp, thread.lane, mask, bytes, what);
    warp.holds[thread.lane] = static_cast<uint8_t>(table.number);
    table.present |= own;
    deposit(table.deposits + thread.lane * bytes, mine, bytes);
    if (complete(warp, table)) {
        close(warp, table, thread);
    } else {
        thread.wait = Wait{Wait::Lanes, what, mask, 0, site};
        Scheduler::wait();
        thread.wait.kind = Wait::None;
    }
    return Meeting{table.deposits, table.present, thread.lane};
}

void inactive_lane(const char* what, unsigned lane, Site site) {
    Defect defect;
    defect.kind = "inactive_lane";
    defect.text = std::string(what) + " takes the value of lane " + std::to_string(lane) +
        ", which takes no part in it";
    if (running_thread && lane < kWarpLanes && (running_thread->warp->exited >> lane & 1)) {
        defect.text += ": it has left the kernel";
    } else if (running_thread && lane < kWarpLanes && !(running_thread->warp->exists >> lane & 1)) {
        defect.text += ": the block has no such thread";
    }
    defect.site = site;
    report(defect);
}

uint32_t live_lanes() { return running_thread ? running_thread->warp->live() : 1u; }

}  // namespace emu
