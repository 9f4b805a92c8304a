// A program of its own: it starts in the mode its environment names, and leaves its report behind however it ends.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include "emulator.h"
#include "report.h"
#include "scheduler.h"
#include "state.h"

namespace emu {

namespace {

int report_descriptor = -1;
pid_t owner = -1;

void write_report() {
    if (report_descriptor < 0 || getpid() != owner) return;
    int descriptor = report_descriptor;
    report_descriptor = -1;
    std::string text = report_text();
    for (size_t done = 0; done < text.size();) {
        ssize_t n = write(descriptor, text.data() + done, text.size() - done);
        if (n <= 0) return;
        done += static_cast<size_t>(n);
    }
}

// The program's own end: what is known goes out first. Not what a handler may do, but the process is over either way.
void on_signal(int signal) {
    std::signal(signal, SIG_DFL);
    write_report();
    raise(signal);
}

uint64_t number_from(const char* name) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
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
    std::atexit(write_report);
}

}  // namespace

}  // namespace emu
