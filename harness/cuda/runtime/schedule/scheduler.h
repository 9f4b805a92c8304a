// Whose turn it is. The threads of one block take turns; blocks run one after the other. Answers' blocks run in order in
// every schedule: a block may wait for one before it, as those that pass sums along do. A program's may run in others.
#pragma once

#include <cstdint>

#include "schedule/stacks.h"
#include "threads.h"

namespace emu {

/// SplitMix64: the schedule's own random numbers.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next();
    uint64_t below(uint64_t bound) { return next() % bound; }

private:
    uint64_t state_;
};

/// Counts turns, ends of threads and other entries to the runtime.
extern uint64_t progress;

class Scheduler {
public:
    Scheduler();
    /// 0: in order. Otherwise a random warp runs until it blocks, with a rare preemption.
    void set_seed(uint64_t seed);
    /// A seeded schedule of a block depends on no other block's.
    void begin_block(uint64_t launch, uint64_t block);
    bool reserve(unsigned threads) { return stacks_.reserve(threads); }

    /// Run all threads of the block to their ends. False when the launch was ended from inside.
    bool run(Block& block);
    /// From inside a kernel, or from a fault in one: leave the launch at once.
    [[noreturn]] void leave();
    /// From the last thread of a block to arrive where other blocks are waited for: `run` or `resume` returns, and this
    /// does when the block is resumed from that thread.
    void suspend();
    bool resume(Block& block, Thread& last);

    /// The running thread is not ready until somebody wakes it.
    static void wait();
    /// The running thread stays ready, and others go first.
    void yield();
    void preempt();
    static void wake(Warp& warp, uint32_t lanes);
    static void sleep(Thread& thread);

    StackPool& stacks() { return stacks_; }

private:
    static void run_threads();
    static Thread* next_in_warp(Warp& warp, unsigned after);
    static void switch_to(Thread& next);
    static Thread* ready_elsewhere();
    static void give_stack(Thread& thread);
    Thread* next_warp(bool leave);
    void exit_thread();

    StackPool stacks_;
    Stack host_;
    Random random_{0};
    uint64_t seed_ = 0;
    bool left_ = false;
    static inline unsigned turns_ = 0;  // of this warp before another one goes
};

Scheduler& scheduler();

// Inlined, for a kernel's shuffles do little else.
inline void Scheduler::sleep(Thread& thread) {
    Warp& warp = *thread.warp;
    warp.ready &= ~(1u << thread.lane);
    if (!warp.ready) warp.block->ready_warps &= ~(1u << warp.number);
}

inline void Scheduler::wake(Warp& warp, uint32_t lanes) {
    if (!lanes) return;
    warp.ready |= lanes;
    warp.block->ready_warps |= 1u << warp.number;
}

inline uint32_t lanes_above(unsigned lane) { return lane >= 31 ? 0u : ~0u << (lane + 1); }

inline Thread* Scheduler::next_in_warp(Warp& warp, unsigned after) {
    const uint32_t lanes = warp.ready & lanes_above(after);
    return &warp.threads[__builtin_ctz(lanes ? lanes : warp.ready)];
}

[[gnu::always_inline]] inline void Scheduler::switch_to(Thread& next) {
    Thread& thread = *running_thread;
    if (&next == &thread) return;
    if (__builtin_expect(!next.stack, 0)) give_stack(next);
    ++progress;
    running_thread = &next;
    switch_stack(*thread.stack, *next.stack);
}

[[gnu::always_inline]] inline void Scheduler::wait() {
    Thread& thread = *running_thread;
    sleep(thread);
    Warp& warp = *thread.warp;
    switch_to(warp.ready && --turns_ ? *next_in_warp(warp, thread.lane) : *ready_elsewhere());
}

enum class BlockOrder : uint8_t { Forward, Backward, Mixed };
extern BlockOrder block_order;

/// No thread of the block is ready and some are left: name who waits where. Reported as a defect; the launch ends.
[[noreturn]] void report_deadlock(Block& block);

/// A thread of the block has exited: barriers and meetings that waited only for it are complete.
void complete_barrier_without(Thread& exited);
void complete_meetings_without(Thread& exited);
/// A block begins: what an ended launch left gathered is void.
void forget_barrier();

}  // namespace emu
