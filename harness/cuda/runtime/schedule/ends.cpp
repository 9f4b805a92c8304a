// How a thread ends its launch, and what it tells of its accesses.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda_runtime_api.h"
#include "observe/observer.h"
#include "run/state.h"
#include "schedule/scheduler.h"

namespace emu {

namespace {

// A waiting loop on an atomic must let the one it waits for have its turn.
constexpr unsigned kAtomicsPerTurn = 64;

int error_of(const char* kind) {
    if (std::strcmp(kind, "assert") == 0) return cudaErrorAssert;
    if (std::strcmp(kind, "misaligned") == 0) return cudaErrorMisalignedAddress;
    if (std::strcmp(kind, "runaway") == 0) return cudaErrorLaunchTimeout;
    return cudaErrorLaunchFailure;
}

// The launch fails, and the program goes on: nothing is said of values that it should have written.
[[noreturn]] void leave_launch_out(const char* what) {
    fail("launch", cudaErrorNotSupported,
         std::string("kernel `") + running_block->launch->kernel->name + "` was not run to its end: " + what);
    on_cut_off();
    state().incomplete = true;
    each_allocation([](Allocation& a, void*) { if (!a.freed) on_host_write(a.address, a.bytes); }, nullptr);
    scheduler().leave();
}

}  // namespace

void trap(const char* kind, const char* text, Site site) {
    Defect defect;
    defect.kind = kind;
    defect.text = text;
    defect.site = site;
    report(defect);
    if (!running_thread) std::abort();
    end_launch(error_of(kind));
}

void unsupported(const char* what, Site site) {
    list_unsupported(what, site);
    if (running_thread && has_own_main) leave_launch_out(what);
    if (running_thread) end_launch(cudaErrorNotSupported);
    std::fprintf(stderr, "unsupported on the emulated device: %s\n", what);
    std::exit(1);
}

void atomic(void* address, unsigned bytes, const void* pc) {
    if (!running_thread) return;
    ++progress;
    if (++running_thread->atomics % kAtomicsPerTurn == 0) yield();
    may_preempt();
    on_atomic(address, bytes, pc);
}

void access(const void* address, unsigned bytes, bool write, const void* pc) {
    if (running_thread) on_access(address, bytes, write, pc);
}

void fence(Scope scope) {
    if (running_thread) on_fence(scope);
}

}  // namespace emu

// The C library's assert, in kernels and in host code.
extern "C" [[noreturn]] void __assert_fail(const char* condition, const char* file, unsigned line,
    const char* function) {
    if (emu::running_thread) {
        std::string text = std::string("assertion `") + condition + "` failed";
        emu::trap("assert", text.c_str(), emu::Site{file, static_cast<int>(line)});
    }
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
    std::abort();
}
