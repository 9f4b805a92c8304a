// What was found wrong with a program.
#pragma once

#include <string>

#include "threads.h"

namespace emu {

constexpr const char* kError = "error";
constexpr const char* kWarning = "warning";
constexpr const char* kInfo = "info";

/// The other side of a race.
struct OtherSide {
    bool known = false;
    const char* access = "";  // read | write | atomic
    Index block{0, 0, 0};
    Index thread{0, 0, 0};
    const void* pc = nullptr;
    Site site{nullptr, 0};
};

/// `pc` is a return address (the instruction is the one before it), null when unknown. Kernel, launch, block and thread
/// are filled in by `report` from the running thread, unless `block` and `thread` were set with `placed`.
struct Defect {
    const char* kind = "";
    const char* severity = kError;
    std::string text;
    const void* pc = nullptr;
    Site site{nullptr, 0};
    const char* space = nullptr;   // global | shared | constant | local | host
    const char* access = nullptr;  // read | write | atomic
    unsigned bytes = 0;
    std::string buffer;            // empty: none
    int64_t offset = 0;            // in it
    OtherSide other{};
    bool placed = false;
    Index block{0, 0, 0};
    Index thread{0, 0, 0};
    std::string kernel;   // empty: the one that runs
    uint64_t launch = 0;  // of that kernel
};

/// Set in a process that runs a share of a launch's blocks and says nothing (shadow/shares.h).
extern bool in_share;
/// What there is to tell is told where all blocks are run: end such a process.
[[noreturn]] void give_up_share();

/// Keep the defect; one that equals a kept one (kind, kernel, pc, other.pc, sites) only counts up. At most 64 are kept.
void report(Defect defect);

/// Whether an equal defect is kept already; if so it is counted, and there is no need to compose a text for it.
bool seen_again(const char* kind, const void* pc, const void* other_pc = nullptr);

/// End the launch from inside a kernel: `error` (a cudaError_t) stays for good.
[[noreturn]] void end_launch(int error);

}  // namespace emu
