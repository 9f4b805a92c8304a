#include "schedule/scheduler.h"

#include "observe/observer.h"
#include "run/defects.h"

namespace emu {

__thread Thread* running_thread __attribute__((tls_model("initial-exec"))) = nullptr;
Block* running_block = nullptr;
int64_t preempt_after = INT64_MAX;
uint64_t progress = 0;
BlockOrder block_order = BlockOrder::Forward;

namespace {

// A warp whose lanes keep meeting each other in a waiting loop must not keep the others from their turn.
constexpr unsigned kTurnsPerWarp = 4096;
// Accesses and meetings between two preemptions of a seeded schedule, at most.
constexpr uint64_t kPreemptionInterval = 4096;

}  // namespace

uint64_t Random::next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

Scheduler& scheduler() {
    static auto* instance = new Scheduler;  // outlives static destructors
    return *instance;
}

Scheduler::Scheduler() { stacks_.set_main(&Scheduler::run_threads); }

void Scheduler::set_seed(uint64_t seed) {
    seed_ = seed;
    preempt_after = INT64_MAX;
}

void Scheduler::begin_block(uint64_t launch, uint64_t block) {
    if (!seed_) return;
    random_ = Random(seed_ ^ launch * 0x9e3779b97f4a7c15u ^ block * 0xd1b54a32d192ed03u);
    preempt_after = static_cast<int64_t>(1 + random_.below(kPreemptionInterval));
}

bool Scheduler::run(Block& block) {
    left_ = false;
    turns_ = kTurnsPerWarp;
    running_block = &block;
    Thread* first = seed_ ? next_warp(false) : &block.threads[0];
    first->stack = stacks_.take();
    running_thread = first;
    switch_stack(host_, *first->stack);
    running_thread = nullptr;
    if (left_) stacks_.renew();
    return !left_;
}

void Scheduler::suspend() { switch_stack(*running_thread->stack, host_); }

bool Scheduler::resume(Block& block, Thread& last) {
    turns_ = kTurnsPerWarp;
    running_block = &block;
    running_thread = &last;
    switch_stack(host_, *last.stack);
    running_thread = nullptr;
    if (left_) stacks_.renew();
    return !left_;
}

void Scheduler::leave() {
    left_ = true;
    Stack abandoned;
    switch_stack(abandoned, host_);
    __builtin_unreachable();
}

// What every stack runs: one thread after the other, and on its own stack a thread that has had no turn yet.
void Scheduler::run_threads() {
    for (;;) {
        const Launch& launch = *running_block->launch;
        launch.entry(launch.closure);
        scheduler().exit_thread();
    }
}

void Scheduler::exit_thread() {
    Thread& thread = *running_thread;
    ++progress;
    on_exit(thread);
    Stack* stack = thread.stack;
    thread.stack = nullptr;
    thread.warp->exited |= 1u << thread.lane;
    sleep(thread);
    Block& block = *thread.block;
    --block.live;
    complete_meetings_without(thread);
    complete_barrier_without(thread);
    if (!block.live) {
        stacks_.put(stack);
        switch_stack(*stack, host_);
        return;
    }
    Warp& warp = *thread.warp;
    Thread* next = warp.ready && --turns_ ? next_in_warp(warp, thread.lane) : ready_elsewhere();
    running_thread = next;
    if (!next->stack) {
        next->stack = stack;
    } else {
        stacks_.put(stack);
        switch_stack(*stack, *next->stack);
    }
}

// `leave`: another warp than the running thread's, if there is one.
Thread* Scheduler::next_warp(bool leave) {
    turns_ = kTurnsPerWarp;
    Block& block = *running_block;
    uint32_t warps = block.ready_warps;
    unsigned current = running_thread ? running_thread->warp->number : kMaxWarps - 1;
    if (!seed_) {
        uint32_t above = warps & lanes_above(current);
        Warp& warp = block.warps[__builtin_ctz(above ? above : warps)];
        return &warp.threads[__builtin_ctz(warp.ready)];
    }
    if (leave && (warps & ~(1u << current))) warps &= ~(1u << current);
    for (uint64_t skip = random_.below(static_cast<uint64_t>(__builtin_popcount(warps))); skip > 0; --skip) {
        warps &= warps - 1;
    }
    return next_in_warp(block.warps[__builtin_ctz(warps)], static_cast<unsigned>(random_.below(kWarpLanes)));
}

Thread* Scheduler::ready_elsewhere() {
    if (!running_block->ready_warps) report_deadlock(*running_block);
    return scheduler().next_warp(true);
}

void Scheduler::give_stack(Thread& thread) { thread.stack = scheduler().stacks_.take(); }

void Scheduler::yield() {
    Thread& thread = *running_thread;
    Warp& warp = *thread.warp;
    // round the block, lane by lane: whoever is waited for gets its turn
    if (warp.ready & lanes_above(thread.lane)) switch_to(*next_in_warp(warp, thread.lane));
    else switch_to(*next_warp(true));
}

void Scheduler::preempt() {
    preempt_after = static_cast<int64_t>(1 + random_.below(kPreemptionInterval));
    switch_to(*next_warp(true));
}

void preempt() {
    if (!running_thread || preempt_after > 0) return;
    scheduler().preempt();
}

void yield() {
    if (running_thread) scheduler().yield();
}

Range running_stack() {
    if (!running_thread || !running_thread->stack) return {nullptr, nullptr};
    const unsigned char* lowest = running_thread->stack->lowest;
    return {lowest, lowest + kStackBytes};
}

bool on_a_stack(const void* address) { return scheduler().stacks().contains(address); }

}  // namespace emu
