// Barriers of a block, with votes.
#include <cstring>
#include <map>

#include "observe/observer.h"
#include "schedule/scheduler.h"

namespace emu {

namespace {

/// The barrier that the running block's threads are gathering at: blocks run one at a time, so there is one.
struct Gathering {
    unsigned arrived = 0;
    bool differ = false;  // threads came to different barriers
    Wait first;
    unsigned count = 0;   // of true predicates
    int result = 0;       // of the last complete one
    Vote vote = Vote::None;
};
Gathering gathering;

bool same_barrier(const Wait& a, const Wait& b) {
    return a.barrier == b.barrier && a.site.line == b.site.line &&
           (a.site.file == b.site.file || std::strcmp(a.site.file, b.site.file) == 0);
}

std::string place_of(const Wait& wait) {
    const char* slash = std::strrchr(wait.site.file, '/');
    return std::string(slash ? slash + 1 : wait.site.file) + ":" + std::to_string(wait.site.line);
}

const Thread* waiting_at(const Block& block, bool first) {
    for (unsigned i = 0; i < block.thread_count; ++i) {
        const Thread& thread = block.threads[i];
        if (thread.wait.kind == Wait::Barrier && same_barrier(thread.wait, gathering.first) == first) return &thread;
    }
    return nullptr;
}

std::string counted_by_place(const Block& block) {
    std::map<std::pair<std::string, int>, unsigned> threads;
    for (unsigned i = 0; i < block.thread_count; ++i) {
        const Wait& wait = block.threads[i].wait;
        if (wait.kind == Wait::Barrier) ++threads[{place_of(wait), wait.barrier}];
    }
    std::string text;
    for (const auto& [place, count] : threads) {
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " threads at " + place.first;
    }
    return text;
}

void report_divergence(const Block& block) {
    const Thread* one = waiting_at(block, true);
    const Thread* other = waiting_at(block, false);
    Defect defect;
    defect.kind = "barrier_divergence";
    defect.text = "threads of one block wait at different barriers: " + counted_by_place(block);
    defect.site = gathering.first.site;
    if (one && other) {
        defect.placed = true;
        defect.block = defect.other.block = block.index;
        defect.thread = one->index;
        defect.other.known = true;
        defect.other.thread = other->index;
        defect.other.site = other->wait.site;
    }
    report(defect);
}

/// A remark: a barrier waits for the threads that have not exited (CUDA programming guide, from compute capability 7.0 on).
void report_left_behind(const Block& block) {
    Defect defect;
    defect.kind = "barrier_after_exit";
    defect.severity = kInfo;
    defect.text = std::to_string(block.thread_count - block.live) + " of " + std::to_string(block.thread_count) +
                  " threads of the block have left the kernel before this barrier";
    defect.site = gathering.first.site;
    report(defect);
}

int vote_result(const Block& block) {
    switch (gathering.vote) {
        case Vote::And: return gathering.count == block.live;
        case Vote::Or: return gathering.count > 0;
        case Vote::Count: return static_cast<int>(gathering.count);
        default: return 0;
    }
}

void complete(Block& block) {
    if (gathering.differ) report_divergence(block);
    else if (block.live < block.thread_count) report_left_behind(block);
    ++block.launch->record.barriers;
    on_barrier(block);
    gathering.result = vote_result(block);
    gathering.arrived = 0;
    gathering.count = 0;
    gathering.differ = false;
    for (unsigned w = 0; w < block.warp_count; ++w) {
        Warp& warp = block.warps[w];
        Scheduler::wake(warp, warp.at_barrier);
        warp.at_barrier = 0;
    }
}

}  // namespace

void forget_barrier() { gathering = Gathering{}; }

void complete_barrier_without(Thread& exited) {
    Block& block = *exited.block;
    if (block.live && gathering.arrived == block.live) complete(block);
}

int barrier(int id, Vote vote, int predicate, Site site) {
    if (!running_thread) unsupported("__syncthreads outside of a kernel", site);
    ++progress;
    may_preempt();
    Thread& thread = *running_thread;
    Block& block = *thread.block;
    thread.wait.kind = Wait::Barrier;
    thread.wait.what = "__syncthreads";
    thread.wait.barrier = id;
    thread.wait.site = site;
    if (gathering.arrived == 0) {
        gathering.first = thread.wait;
        gathering.vote = vote;
    } else if (!same_barrier(gathering.first, thread.wait)) {
        gathering.differ = true;
    }
    gathering.count += predicate != 0;
    thread.warp->at_barrier |= 1u << thread.lane;
    if (++gathering.arrived == block.live) complete(block);
    else Scheduler::wait();
    thread.wait.kind = Wait::None;
    return gathering.result;
}

}  // namespace emu
