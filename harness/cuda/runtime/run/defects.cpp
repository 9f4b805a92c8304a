#include "run/defects.h"

#include <unistd.h>

#include <cstring>

#include "run/following.h"
#include "run/state.h"
#include "schedule/scheduler.h"

namespace emu {

bool in_share = false;

void give_up_share() { _exit(1); }

namespace {

const char* running_kernel() { return running_block ? running_block->launch->kernel->name : ""; }

bool same_site(const Site& a, const Site& b) {
    if (a.line != b.line) return false;
    if (!a.file || !b.file) return a.file == b.file;
    return std::strcmp(a.file, b.file) == 0;
}

bool equal(const KeptDefect& kept, const Defect& d) {
    const Defect& k = kept.defect;
    return std::strcmp(k.kind, d.kind) == 0 && k.pc == d.pc && k.other.pc == d.other.pc && same_site(k.site, d.site) &&
           same_site(k.other.site, d.other.site) && kept.kernel == (d.kernel.empty() ? running_kernel() : d.kernel);
}

void place(KeptDefect& kept) {
    if (!kept.defect.kernel.empty()) {
        kept.in_kernel = true;
        kept.kernel = kept.defect.kernel;
        kept.launch = kept.defect.launch;
        return;
    }
    if (!running_block) return;
    kept.in_kernel = true;
    kept.kernel = running_kernel();
    kept.launch = running_block->launch->ordinal;
    if (kept.defect.placed || !running_thread) return;
    kept.defect.block = running_block->index;
    kept.defect.thread = running_thread->index;
}

// Why what follows may be no fault of the program's.
const char* doubt() {
    const State& s = state();
    if (s.short_of_memory) return " (after memory was asked for that the emulated device does not have)";
    return s.blocks_run ? " (after blocks that were not run, whose results may be missing here)"
                        : " (after a kernel that was not run, whose results may be missing here)";
}

}  // namespace

void report(Defect defect) {
    if (in_share) give_up_share();
    const Exclusive exclusive;
    State& s = state();
    for (KeptDefect& kept : s.defects) {
        if (equal(kept, defect)) {
            ++kept.count;
            return;
        }
    }
    if (s.defects.size() >= kMaxDefects) {
        s.truncated = true;
        return;
    }
    KeptDefect kept;
    kept.defect = std::move(defect);
    if (s.incomplete && std::strcmp(kept.defect.severity, kError) == 0) {
        kept.defect.severity = kWarning;
        kept.defect.text += doubt();
    }
    place(kept);
    s.defects.push_back(std::move(kept));
    if (follower.defect) follower.defect(s.defects.back());
}

bool seen_again(const char* kind, const void* pc, const void* other_pc) {
    if (in_share) give_up_share();
    const Exclusive exclusive;
    Defect probe;
    probe.kind = kind;
    probe.pc = pc;
    probe.other.pc = other_pc;
    State& s = state();
    for (KeptDefect& kept : s.defects) {
        if (equal(kept, probe)) {
            ++kept.count;
            return true;
        }
    }
    if (s.defects.size() < kMaxDefects) return false;
    s.truncated = true;
    return true;
}

void end_launch(int error) {
    if (in_share) give_up_share();
    if (!state().sticky_error) state().sticky_error = error;
    if (!running_thread) __builtin_trap();
    scheduler().leave();
}

}  // namespace emu
