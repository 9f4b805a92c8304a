// A launch, its running block, and the block's warps and threads.
#pragma once

#include <algorithm>
#include <iterator>

#include "emulator.h"
#include "run/records.h"

namespace emu {

constexpr unsigned kWarpLanes = 32;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxWarps = kMaxThreads / kWarpLanes;
constexpr uint8_t kNoTable = kWarpLanes;

struct Block;
struct Launch;
struct Stack;
struct Table;
struct Thread;

/// What a thread that is not ready waits for.
struct Wait {
    enum Kind : uint8_t { None, Barrier, Lanes } kind = None;
    const char* what = nullptr;
    uint32_t mask = 0;  // of lanes
    int barrier = 0;    // its id
    Site site{nullptr, 0};
};

struct Warp {
    Block* block;
    Thread* threads;        // lane 0
    unsigned number;        // in its block
    uint32_t exists;        // lanes that the block has; the masks below are of lanes too
    uint32_t exited;
    uint32_t ready;
    uint32_t at_barrier;
    uint32_t open_tables;   // of the tables below: waiting for lanes
    Table* tables;
    Table* newest;          // the open one that was opened last, null where there is none
    uint8_t holds[kWarpLanes];  // by lane: the number of the table it may read, kNoTable for none
    uint32_t live() const { return exists & ~exited; }
    void hold_nothing() { std::fill(std::begin(holds), std::end(holds), kNoTable); }
};

struct Thread {
    Index index;      // threadIdx
    unsigned linear;  // in its block
    unsigned lane;
    Warp* warp;
    Block* block;
    Stack* stack;     // null before its first turn and after its last
    unsigned atomics;
    Wait wait;
};

/// The block that runs: blocks run one after the other in the same storage.
struct Block {
    Index index;             // blockIdx
    uint64_t linear;         // in the grid
    Launch* launch;
    unsigned thread_count;
    unsigned warp_count;
    unsigned live;           // threads that have not exited
    uint32_t ready_warps;
    Thread* threads;
    Warp* warps;
    unsigned char* shared;   // base of the block's shared memory, equal for all blocks
    size_t shared_capacity;  // bytes of address space behind it, red zones included
    unsigned at_grid = 0;    // threads that wait for the other blocks
};

struct Launch {
    uint64_t number;   // 1, 2, ... in this process
    uint64_t ordinal;  // 0, 1, ... in this report
    const Kernel* kernel;
    Index grid;
    Index block;       // blockDim
    size_t dynamic_shared;
    void (*entry)(const void*);
    const void* closure;  // the parameters, copied by value: what kernels may read of the host's memory
    const void* pc;       // of the author's launch
    LaunchRecord record;
    bool cooperative = false;  // its blocks may wait for each other
    std::string refused = {};  // why a GPU would not have begun it, once its static shared memory is known
};

// The thread that runs, null while host code does: for each host thread its own, as only one of them is inside a launch.
// `__thread`: of a `thread_local` that other units define, each use asks whether it has a constructor.
extern __thread Thread* running_thread __attribute__((tls_model("initial-exec")));
inline Thread* running() { return running_thread; }
/// The block that runs, null outside of launches.
extern Block* running_block;

/// In seeded schedules, once in a while: let another warp run. Called where the order of threads may matter.
extern int64_t preempt_after;
void preempt();
inline void may_preempt() {
    if (__builtin_expect(--preempt_after <= 0, 0)) preempt();
}

/// The lowest and the bound of the running thread's stack; {null, null} in host code.
struct Range {
    const unsigned char* begin;
    const unsigned char* end;
    bool contains(const void* p) const { return p >= begin && p < end; }
};
Range running_stack();
/// All stacks of threads lie in here, guards included.
bool on_a_stack(const void* address);

}  // namespace emu
