// A program of its own: it starts in the mode its environment names, and leaves its report behind however it ends.
//
// Where the environment asks for it (EMU_FOLLOW), each defect and launch is written as a line when it is met: what was
// seen stays known of a program that is killed. The whole report is the last line, where the program lives to write it.
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "emulator.h"
#include "observe/observer.h"
#include "run/block_sample.h"
#include "run/following.h"
#include "run/report.h"
#include "run/state.h"
#include "schedule/scheduler.h"

namespace emu {

namespace {

constexpr size_t kLaunchBytes = 200'000;  // of lines about launches
constexpr uint64_t kEachLaunch = 64;      // so many have a line each, then one every so often
constexpr long kBetween = 50'000'000;     // nanoseconds
constexpr long kBetweenProgress = 1'000'000'000;
constexpr long kForReport = 2;            // seconds that a program which is ended has to write its report

int report_descriptor = -1;
pid_t owner = -1;
uint64_t launch_budget = 0;  // 0: none
size_t launch_bytes = 0;
long told_at = 0;
long progress_told_at = 0;
uint64_t blocks_done = 0, blocks_to_run = 0;  // of the running launch
long launch_began = 0;  // nanoseconds
timer_t deadline;
bool has_deadline = false;

long now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

uint64_t to_milliseconds(long nanoseconds) { return static_cast<uint64_t>(nanoseconds / 1'000'000); }

bool ours() { return report_descriptor >= 0 && getpid() == owner; }

void write_bytes(const char* text, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(report_descriptor, text + done, size - done);
        if (n <= 0) return;
        done += static_cast<size_t>(n);
    }
}

void write_line(const std::string& text) { write_bytes((text + "\n").c_str(), text.size() + 1); }

void write_report() {
    if (!ours()) return;
    std::string text = report_text();
    write_bytes(text.data(), text.size());
    report_descriptor = -1;
}

// Text that may be put together in a signal handler.
class Line {
public:
    Line& operator<<(const char* text) {
        while (*text && size_ < sizeof text_ - 1) text_[size_++] = *text++;
        return *this;
    }
    Line& operator<<(uint64_t number) {
        char digits[21];
        char* at = digits + sizeof digits - 1;
        *at = 0;
        do *--at = static_cast<char>('0' + number % 10);
        while (number /= 10);
        return *this << at;
    }
    void write() { write_bytes(text_, size_); }

private:
    char text_[600];
    size_t size_ = 0;
};

// Where it stands when it is stopped. Nothing here takes memory: the program may have been in the middle of that.
void say_stopped(const char* why) {
    Line line;
    line << "\n{\"stopped\":{\"why\":\"" << why << "\",\"launches\":" << state().launches;
    if (running_block) {
        line << ",\"block\":" << blocks_done << ",\"blocks\":" << blocks_to_run;
        line << ",\"milliseconds\":" << to_milliseconds(now() - launch_began);
    }
    (line << "}}\n").write();
}

void set_deadline(long seconds) {
    itimerspec spec{};
    spec.it_value.tv_sec = seconds;
    if (has_deadline) timer_settime(deadline, 0, &spec, nullptr);
}

void leave_at_once(int) { _exit(124); }

// What the running block has not shown to be harmless is told last, with whatever state the program is in: it may fail.
void on_deadline(int) {
    if (!ours()) _exit(124);
    say_stopped("time");
    if (!running_block) _exit(124);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGRTMAX}) std::signal(signal, leave_at_once);
    set_deadline(kForReport);
    on_cut_off();
    _exit(124);
}

void make_deadline() {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMAX;
    struct sigaction action {};
    action.sa_handler = on_deadline;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    has_deadline = sigaction(SIGRTMAX, &action, nullptr) == 0 && timer_create(CLOCK_MONOTONIC, &event, &deadline) == 0;
}

// The program's own end: what is known goes out first. Not what a handler may do, but the process is over either way.
void on_signal(int signal) {
    std::signal(signal, SIG_DFL);
    set_deadline(kForReport);  // the heap may be what broke it
    if (ours() && running_block) on_cut_off();
    write_report();
    raise(signal);
}

void follow_defect(const KeptDefect& kept) {
    if (ours()) write_line("{\"defect\":" + defect_text(kept) + "}");
}

void stop_at_budget() {
    std::fflush(nullptr);
    say_stopped("launches");
    write_report();
    _exit(0);
}

void follow_launch(const Launch& launch) {
    launch_began = now();
    if (!ours()) return;
    if (launch_budget && launch.ordinal >= launch_budget) {
        --state().launches;
        stop_at_budget();
    }
    if (launch.ordinal >= kEachLaunch && launch_began - told_at < kBetween) return;
    std::string text = "{\"launch\":" + launch_text(launch.record) + ",\"ordinal\":" + std::to_string(launch.ordinal) + "}";
    launch_bytes += text.size();
    if (launch_bytes > kLaunchBytes) return;
    told_at = launch_began;
    write_line(text);
}

// How far it has come: whoever waits may want to make it smaller.
void follow_block(const Block& block, uint64_t done, uint64_t blocks) {
    blocks_done = done;
    blocks_to_run = blocks;
    const long time = now();
    if (!ours() || time - progress_told_at < kBetweenProgress) return;
    progress_told_at = time;
    Line line;
    line << "{\"progress\":{\"launches\":" << block.launch->ordinal + 1 << ",\"blocks_done\":" << done;
    (line << ",\"blocks\":" << blocks << ",\"milliseconds\":" << to_milliseconds(time - launch_began) << "}}\n").write();
}

uint64_t number_from(const char* name) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
}

void follow() {
    follower = {follow_defect, follow_block, follow_launch};
    launch_budget = number_from("EMU_LAUNCHES");
    block_budget = number_from("EMU_BLOCKS");
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what it printed stays known, too
    progress_told_at = now();
    make_deadline();
    if (uint64_t seconds = number_from("EMU_SECONDS")) set_deadline(static_cast<long>(seconds));
}

__attribute__((constructor)) void begin() {
    const char* descriptor = std::getenv("EMU_REPORT_FD");
    if (!descriptor) return;
    report_descriptor = std::atoi(descriptor);
    owner = getpid();
    has_own_main = true;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGXCPU}) std::signal(signal, on_signal);
    block_order = static_cast<BlockOrder>(std::min<uint64_t>(number_from("EMU_ORDER"), 2));
    emu_start(static_cast<unsigned>(number_from("EMU_MODE")), number_from("EMU_SEED"));
    if (number_from("EMU_FOLLOW")) follow();
    std::atexit(write_report);
}

}  // namespace

}  // namespace emu
