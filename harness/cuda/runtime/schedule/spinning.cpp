#include "schedule/spinning.h"

#include <csignal>
#include <link.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "observe/observer.h"
#include "schedule/scheduler.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace emu {

namespace {

constexpr int kSignal = SIGVTALRM;
constexpr long kFirstTick = 100'000'000;  // nanoseconds: a kernel that does not wait hardly notices
constexpr long kNextTick = 1'000'000;     // once a launch is known to wait, hundreds of its threads may do so
constexpr long kBusy = 800'000;           // of CPU time without progress: no part of the runtime takes as long

timer_t timer;
pid_t timed_thread = 0;  // that gets the timer's signals; 0: there is no timer
bool armed = false;
uint64_t progress_seen = 0;
long seen_at = 0;  // nanoseconds of CPU time
struct sigaction old_action;

long cpu_time() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void set_tick(long nanoseconds) {
    itimerspec spec{};
    spec.it_value.tv_nsec = spec.it_interval.tv_nsec = nanoseconds;
    timer_settime(timer, 0, &spec, nullptr);
}

// Where this module's code lies. Looked up before the first tick: one that asked the loader while another one did would
// wait for its lock for good.
uintptr_t code_begin = 0, code_end = 0;

int find_code(dl_phdr_info* info, size_t, void*) {
    const auto own = reinterpret_cast<uintptr_t>(&set_tick);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        if (header.p_type != PT_LOAD || own - begin >= header.p_memsz) continue;
        code_begin = begin;
        code_end = begin + header.p_memsz;
        return 1;
    }
    return 0;
}

// Code of the C library may hold a lock.
bool in_our_module(const ucontext_t& context) {
#if defined(__x86_64__)
    auto pc = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    auto pc = static_cast<uintptr_t>(context.uc_mcontext.pc);
#else
    uintptr_t pc = 0;
#endif
    return pc >= code_begin && pc < code_end;
}

// Every entry to the runtime counts as progress: without any for so long, what was interrupted is the kernel's own
// code, which may be left at any instruction.
void on_tick(int, siginfo_t*, void* context) {
    if (!running_thread || !running_block->ready_warps) return;
    long now = cpu_time();
    if (progress != progress_seen) {
        progress_seen = progress;
        seen_at = now;
        return;
    }
    if (now - seen_at < kBusy || !in_our_module(*static_cast<const ucontext_t*>(context))) return;
    set_tick(kNextTick);
    progress_seen = progress + 1;  // the turn that follows is none
    seen_at = now;
    yield();
}

bool make_timer() {
    auto thread = static_cast<pid_t>(syscall(SYS_gettid));
    if (timed_thread) return timed_thread == thread;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kSignal;
    event.sigev_notify_thread_id = thread;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return false;
    dl_iterate_phdr(find_code, nullptr);
    timed_thread = thread;
    return true;
}

}  // namespace

SpinWatch::SpinWatch() {
    armed = !(mode & (EMU_CHECK | EMU_COUNT)) && make_timer();
    if (!armed) return;
    struct sigaction action {};
    action.sa_sigaction = on_tick;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;  // on the fiber's own stack: it is left from there
    sigaction(kSignal, &action, &old_action);
    progress_seen = progress;
    seen_at = cpu_time();
    set_tick(kFirstTick);
}

SpinWatch::~SpinWatch() {
    if (!armed) return;
    armed = false;
    set_tick(0);
    sigaction(kSignal, &old_action, nullptr);
}

}  // namespace emu
