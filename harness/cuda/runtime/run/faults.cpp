#include "run/faults.h"

#include <cstdint>
#include <string>

#include "cuda_runtime_api.h"
#include "memory/guard.h"
#include "memory/memory.h"
#include "run/defects.h"
#include "schedule/scheduler.h"

namespace emu {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
constexpr size_t kSignalCount = sizeof kSignals / sizeof *kSignals;
constexpr size_t kNullPages = 64 << 10;  // a null pointer with an index is still one

struct sigaction old_actions[kSignalCount];
alignas(16) unsigned char signal_stack[64 << 10];

const char* access_of(const ucontext_t& context) {
#if defined(__x86_64__)
    return context.uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read";
#else
    (void)context;
    return nullptr;
#endif
}

// pages of null come with a known address; an address that no page can have comes as null with SI_KERNEL
bool is_null(const siginfo_t& info) {
    return reinterpret_cast<uintptr_t>(info.si_addr) < kNullPages && info.si_code != SI_KERNEL;
}

int describe_bad_address(Defect& defect, const siginfo_t& info, const ucontext_t& context) {
    if (scheduler().stacks().guarded_by(info.si_addr)) {
        defect.kind = "stack_overflow";
        defect.space = "local";
        defect.text = "a thread's stack overflowed its " + std::to_string(kStackBytes >> 10) +
                      " KiB: local arrays or a recursion too large";
        return cudaErrorIllegalAddress;
    }
    defect.access = access_of(context);
    std::string access = defect.access ? defect.access : "access";
    if (is_null(info)) {
        defect.kind = "null_pointer";
        defect.text = access + " through a null pointer";
    } else {
        defect.kind = "out_of_bounds";
        defect.text = access + " of an address where there is no memory";
    }
    return cudaErrorIllegalAddress;
}

int describe(Defect& defect, int signal, const siginfo_t& info, const ucontext_t& context) {
    defect.pc = pc_of(context);
    if (signal == SIGSEGV || signal == SIGBUS) return describe_bad_address(defect, info, context);
    defect.kind = "trap";
    defect.text = signal == SIGFPE    ? "integer division by zero"
                  : signal == SIGABRT ? "the kernel called abort"
                                      : "the kernel ran into a trap";
    return cudaErrorLaunchFailure;
}

void handle(int signal, siginfo_t* info, void* context) {
    if (!running_thread) {
        // of another host thread than the one whose launch this is
        if (signal == SIGSEGV && host_reaches(*info, *static_cast<const ucontext_t*>(context))) return;
        // host code's own fault: its handler gets it when the instruction is run again
        for (size_t i = 0; i < kSignalCount; ++i) {
            if (kSignals[i] == signal) sigaction(signal, &old_actions[i], nullptr);
        }
        return;
    }
    Defect defect;
    int error = describe(defect, signal, *info, *static_cast<const ucontext_t*>(context));
    report(defect);
    end_launch(error);  // never returns to this stack: it is free for the next fault
}

}  // namespace

const void* pc_of(const ucontext_t& context) {
#if defined(__x86_64__)
    return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP] + 1);
#elif defined(__aarch64__)
    return reinterpret_cast<const void*>(context.uc_mcontext.pc + 1);
#else
    (void)context;
    return nullptr;
#endif
}

FaultHandlers::FaultHandlers() {
    stack_t stack{};
    stack.ss_sp = signal_stack;
    stack.ss_size = sizeof signal_stack;
    sigaltstack(&stack, &old_stack_);
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < kSignalCount; ++i) sigaction(kSignals[i], &action, &old_actions[i]);
}

FaultHandlers::~FaultHandlers() {
    for (size_t i = 0; i < kSignalCount; ++i) sigaction(kSignals[i], &old_actions[i], nullptr);
    if (old_stack_.ss_flags & SS_DISABLE) old_stack_.ss_size = SIGSTKSZ;
    sigaltstack(&old_stack_, nullptr);
}

}  // namespace emu
