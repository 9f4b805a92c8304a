#include "shadow/twins.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include "observe/hooks.h"
#include "schedule/host_threads.h"

namespace emu {

namespace {

constexpr uint64_t kAccessesEach = 1 << 25;       // that a copy may make: a second or two
constexpr uint64_t kAccessesInAll = 1 << 26;      // of all copies, after which no place is looked at a second time
constexpr uint64_t kAccessesAtFirst = 1 << 27;    // nor a first time
constexpr uint64_t kMostCopies = 800;             // each takes about a millisecond
constexpr size_t kMostPlaces = 128;
// For each place so many blocks are looked at; then the 4th, the 8th and so on, and the grid's last.
constexpr uint64_t kBlocksInARow = 3;
constexpr uint32_t kSmallIntegers = 16;
constexpr rlim_t kProcessorSeconds = 2;  // a loop need not access anything

/// What a copy did, as hashes: its accesses, what it stored outside of shared memory or printed, and in shared memory.
struct Trace {
    bool whole = false;  // as far as it was to go
    bool part = false;   // the block goes on
    uint64_t path = 0;
    uint64_t results = 0;
    uint64_t shared = 0;
    uint64_t accesses = 0;
};

struct ReadPlace {
    const void* pc;
    uint64_t block = 0;               // the last one that read there
    uint64_t blocks = 0, lasts = 0;   // so many did, and so many last ones of their grids
    bool too_long = false;            // a copy did not come to the block's end
    Fate fate = Fate::Unknown;
};

struct Twins {
    std::vector<ReadPlace> places;
    uint64_t block = 1;
    uint64_t copies = 0, accesses = 0;  // of copies
    Trace* told = nullptr;              // memory that a copy shares with its parent
    // of a copy
    const void* pc = nullptr;  // where other bytes are filled in
    Filling filling = Filling::Usual;
    Trace trace;
    uint32_t smalls = 0;
    int printed = -1;
};
Twins& twins() {
    static auto* instance = new Twins;
    return *instance;
}

void mix(uint64_t& hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
}

void become_twin(const void* pc, Filling filling) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    twins().printed = redirect_output();
    const rlimit limit{kProcessorSeconds, kProcessorSeconds};
    setrlimit(RLIMIT_CPU, &limit);
    only_host_thread = true;
    Twins& t = twins();
    t.pc = pc;
    t.filling = filling;
    t.trace.accesses = hooks.accesses;
    hooks.limit = std::min(hooks.limit, hooks.accesses + kAccessesEach);
}

void add_printed(uint64_t& hash) {
    std::fflush(stdout);
    unsigned char bytes[4096];
    for (ssize_t n; (n = read(twins().printed, bytes, sizeof bytes)) > 0;) {
        for (ssize_t i = 0; i < n; ++i) mix(hash, bytes[i]);
    }
}

// What a copy told. In the copy false; it goes on as the process that reads.
bool run_twin(const void* pc, Filling filling, Trace& trace) {
    Twins& t = twins();
    *t.told = Trace{};
    ++t.copies;
    const pid_t copy = fork();
    if (copy == 0) {
        become_twin(pc, filling);
        return false;
    }
    while (copy > 0 && waitpid(copy, nullptr, 0) < 0 && errno == EINTR) {
    }
    trace = *t.told;
    t.accesses += trace.whole ? trace.accesses : kAccessesEach;
    return true;
}

// Copies are made until one shows what became of the value; in a copy false.
bool look(ReadPlace& place) {
    Trace usual, other;
    bool taken_up = false, stored = false;
    if (!run_twin(place.pc, Filling::Usual, usual)) return false;
    place.too_long = !usual.whole;
    for (Filling filling : {Filling::Finite, Filling::FromZero, Filling::FromOne}) {
        if (place.too_long) return true;
        if (!run_twin(place.pc, filling, other)) return false;
        if (other.path != usual.path && other.accesses) {
            place.fate = Fate::Decided;
            return true;
        }
        place.too_long = !other.whole;
        stored = stored || other.results != usual.results;
        taken_up = taken_up || other.shared != usual.shared;
    }
    if (stored) place.fate = Fate::Stored;
    // a thread may still hold the value when the block goes on, unless arithmetic took it
    else if (taken_up || !usual.part) place.fate = Fate::Spent;
    return true;
}

bool is_power_of_two(uint64_t n) { return !(n & (n - 1)); }

bool worth_a_look(ReadPlace& place) {
    const Twins& t = twins();
    const Index& grid = running_block->launch->grid;
    const bool last = running_block->linear + 1 == static_cast<uint64_t>(grid.x) * grid.y * grid.z;
    if (last) ++place.lasts;
    if (place.too_long || t.copies >= kMostCopies) return false;
    if (t.accesses >= (place.blocks == 1 ? kAccessesAtFirst : kAccessesInAll)) return false;
    return place.blocks <= kBlocksInARow || is_power_of_two(place.blocks) || (last && is_power_of_two(place.lasts));
}

ReadPlace* find_place(const void* pc) {
    for (ReadPlace& place : twins().places) {
        if (place.pc == pc) return &place;
    }
    return nullptr;
}

bool shared_page() {
    Twins& t = twins();
    if (t.told) return true;
    void* page = mmap(nullptr, sizeof(Trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    t.told = static_cast<Trace*>(page);
    return true;
}

}  // namespace

int redirect_output() {
    int ends[2] = {-1, -1};
    const bool made = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
    for (int fd : {1, 2}) {
        if (!made || dup2(ends[1], fd) < 0) close(fd);
    }
    return ends[0];
}

void twins_read(const void* pc) {
    Twins& t = twins();
    if (in_twin()) return;
    ReadPlace* place = find_place(pc);
    if (!place) {
        if (t.places.size() >= kMostPlaces) return;
        t.places.push_back(ReadPlace{pc});
        place = &t.places.back();
    }
    if (place->block == t.block) return;
    place->block = t.block;
    ++place->blocks;
    if (worth_a_look(*place) && shared_page()) look(*place);
}

Fate twins_fate(const void* pc) {
    const ReadPlace* place = find_place(pc);
    return place ? place->fate : Fate::Unknown;
}

void twins_block_end() { ++twins().block; }

bool in_twin() { return twins().pc != nullptr; }

// What is read elsewhere must not hide it: a NaN remains one, whatever is added to it.
Filling twins_filling(const void* pc) {
    if (!in_twin()) return Filling::Usual;
    return twins().pc == pc ? twins().filling : Filling::Finite;
}

uint32_t next_small() {
    Twins& t = twins();
    return (t.smalls++ + (t.filling == Filling::FromOne)) % kSmallIntegers;
}

void twin_ends(bool part) {
    if (!in_twin()) return;
    Trace& trace = twins().trace;
    trace.part = part;
    add_printed(trace.results);
    trace.accesses = 1 + hooks.accesses - trace.accesses;
    trace.whole = hooks.accesses <= hooks.limit;
    mix(trace.path, trace.accesses);
    *twins().told = trace;
    _exit(0);
}

void trace_access(const Access& access) {
    if (!in_twin()) return;
    uint64_t& path = twins().trace.path;
    mix(path, reinterpret_cast<uintptr_t>(access.pc) << 8 | access.bytes << 2 | access.write << 1 | access.atomic);
    mix(path, access.address);
    mix(path, running_thread->linear);
}

void trace_store(uintptr_t address, uint64_t value) {
    if (!in_twin()) return;
    Trace& trace = twins().trace;
    uint64_t& hash = shadow().shared.contains(address) ? trace.shared : trace.results;
    mix(hash, address);
    mix(hash, value);
}

}  // namespace emu
