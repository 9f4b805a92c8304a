// Meetings of a warp's lanes: the one primitive of all warp collectives.
#include "meeting.h"

#include <cstring>

#include "observer.h"
#include "scheduler.h"

namespace emu {

namespace {

bool same_word(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }

void leave_table(Thread& thread) {
    Table* table = thread.table;
    if (!table) return;
    table->holders &= ~(1u << thread.lane);
    if (!table->holders) thread.warp->used_tables &= ~(1u << (table - thread.warp->tables));
    thread.table = nullptr;
}

Table& join_table(Warp& warp, uint32_t mask, unsigned bytes, const char* what) {
    for (uint32_t open = warp.open_tables; open; open &= open - 1) {
        Table& table = warp.tables[__builtin_ctz(open)];
        if (table.mask == mask && table.bytes == bytes && same_word(table.what, what)) return table;
    }
    // a lane holds one table at most, so one of the 32 is free
    unsigned free = static_cast<unsigned>(__builtin_ctz(~warp.used_tables));
    warp.used_tables |= 1u << free;
    warp.open_tables |= 1u << free;
    Table& table = warp.tables[free];
    table.mask = mask;
    table.bytes = bytes;
    table.what = what;
    table.holders = 0;
    return table;
}

bool complete(const Warp& warp, const Table& table) {
    return (table.holders & table.mask) == (warp.live() & table.mask);
}

void close(Warp& warp, Table& table, Thread& last) {
    table.present = table.holders;
    // who takes the value of a lane that is not there gets no number
    for (uint32_t absent = ~table.present; absent; absent &= absent - 1) {
        std::memset(table.deposits + __builtin_ctz(absent) * table.bytes, 0xFF, table.bytes);
    }
    warp.open_tables &= ~(1u << (&table - warp.tables));
    ++warp.block->launch->record.warp_meetings;
    on_warp_meeting(last, table.mask & warp.exists, table.present);
    Scheduler::wake(warp, table.present);
}

uint32_t own_mask(Thread& thread, uint32_t mask, const char* what, Site site) {
    uint32_t own = 1u << thread.lane;
    if (mask & own) return mask;
    Defect defect;
    defect.kind = "inactive_lane";
    defect.text = std::string(what) + " is called by lane " + std::to_string(thread.lane) + ", which its mask " +
                  hexadecimal(mask) + " leaves out";
    defect.site = site;
    report(defect);
    return own;
}

}  // namespace

std::string hexadecimal(uint32_t mask) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", mask);
    return text;
}

Table* new_tables() { return new Table[kMaxWarps * kWarpLanes]; }

void complete_meetings_without(Thread& exited) {
    leave_table(exited);
    Warp& warp = *exited.warp;
    for (uint32_t open = warp.open_tables; open; open &= open - 1) {
        Table& table = warp.tables[__builtin_ctz(open)];
        if (complete(warp, table)) close(warp, table, exited);
    }
}

Meeting exchange(uint32_t mask, const void* mine, unsigned bytes, const char* what, Site site) {
    if (!running_thread) unsupported(what, site);
    ++progress;
    may_preempt();
    Thread& thread = *running_thread;
    Warp& warp = *thread.warp;
    mask = own_mask(thread, mask, what, site);
    leave_table(thread);
    Table& table = join_table(warp, mask, bytes, what);
    thread.table = &table;
    table.holders |= 1u << thread.lane;
    std::memcpy(table.deposits + thread.lane * bytes, mine, bytes);
    if (complete(warp, table)) {
        close(warp, table, thread);
    } else {
        thread.wait = Wait{Wait::Lanes, what, mask, 0, site};
        scheduler().wait();
        thread.wait.kind = Wait::None;
    }
    return Meeting{table.deposits, table.present};
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
