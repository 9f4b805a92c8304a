#include "memory/guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>

#include "memory/memory.h"
#include "run/faults.h"
#include "run/state.h"

namespace emu {

namespace {

constexpr uintptr_t kPage = 4096;  // no two allocations share one: the red zone between them is as large

bool guarding = false;
bool open = false;  // between a report and the next start
unsigned reaching = 0;
thread_local unsigned reaching_here __attribute__((tls_model("initial-exec"))) = 0;  // of these, the running host thread's
struct sigaction action_before;

void set_protection(const Range& range, int protection) {
    if (!range.begin) return;
    auto* begin = const_cast<unsigned char*>(range.begin);
    mprotect(begin, static_cast<size_t>(range.end - range.begin), protection);
}

void open_pages(const unsigned char* begin, const unsigned char* end) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(begin) / kPage * kPage;
    mprotect(reinterpret_cast<void*>(first), reinterpret_cast<uintptr_t>(end) - first, PROT_READ | PROT_WRITE);
}

void report_host(const Allocation* allocation, const unsigned char* address, const void* pc) {
    for (const KeptDefect& known : state().defects) {
        if (std::string(known.defect.kind) == "device_pointer_on_host") return;  // a hook has told it, with its line
    }
    Defect defect;
    defect.kind = "device_pointer_on_host";
    defect.text = "host code reaches into " +
                  (allocation ? "`" + allocation->name + "`, which is device memory" : std::string("device memory"));
    defect.pc = pc;
    defect.space = "global";
    if (allocation) {
        defect.buffer = allocation->name;
        defect.offset = address - allocation->address;
    }
    report(defect);
}

void on_reach(int, siginfo_t* info, void* context) {
    if (host_reaches(*info, *static_cast<const ucontext_t*>(context))) return;
    sigaction(SIGSEGV, &action_before, nullptr);  // gets it when the instruction is run again
    guarding = false;
}

}  // namespace

bool host_reaches(const siginfo_t& info, const ucontext_t& context) {
    auto* address = static_cast<unsigned char*>(info.si_addr);
    if (!guarding || reaching_here || !arena().contains(address)) return false;
    const Exclusive exclusive;  // another host thread that is at work closes the memory when it is done
    const Allocation* allocation = find_allocation(address);
    const bool shared = allocation && !allocation->freed && allocation->kind != AllocationKind::Device;
    if (!shared) report_host(allocation, address, pc_of(context));
    if (allocation) open_pages(allocation->address, allocation->address + allocation->bytes);
    else open_pages(address, address + 1);
    return true;
}

void guard_device_memory() {
    if (!guarding) {
        struct sigaction action {};
        action.sa_sigaction = on_reach;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        if (sigaction(SIGSEGV, &action, &action_before) != 0) return;
        guarding = true;
    }
    open = false;
    set_protection(arena(), PROT_NONE);
}

void open_device_memory() {
    if (!guarding || open) return;
    open = true;
    set_protection(arena(), PROT_READ | PROT_WRITE);
}

Reach::Reach() {
    ++reaching_here;
    if (!reaching++ && guarding && !open) set_protection(arena(), PROT_READ | PROT_WRITE);
}

Reach::~Reach() {
    --reaching_here;
    if (!--reaching && guarding && !open) set_protection(arena(), PROT_NONE);
}

}  // namespace emu
