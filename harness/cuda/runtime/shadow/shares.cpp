#include "shadow/shares.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "observe/hooks.h"
#include "run/following.h"
#include "schedule/host_threads.h"
#include "shadow/twins.h"

namespace emu {

namespace {

constexpr unsigned kMostShares = 16;
// Copies of the device take memory: of what is touched, with what is known of it, up to ten times as much each.
constexpr size_t kCopied = 10;
constexpr size_t kMostBytes = 64 << 20, kMostCopied = size_t{2} << 30;
constexpr long kLook = 30'000'000;   // nanoseconds of a launch after which its blocks are known well enough
constexpr long kWorth = 300'000'000; // that must be left to do
constexpr long kWorthEach = 16;      // and for each byte of memory: what is known of it is copied, and read again
constexpr long kNap = 500'000;

struct Shares {
    bool looked = false;
    unsigned processes = 1;
    bool all = false;       // whatever they are worth
    bool messages = false;  // in the running launch
    long begun = 0;         // the running launch
    std::set<const Kernel*> refused;
};
Shares& shares() {
    static auto* instance = new Shares;
    return *instance;
}

long nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void look_at_settings() {
    Shares& s = shares();
    if (s.looked) return;
    s.looked = true;
    if (const char* text = std::getenv("EMU_CORES")) {
        s.processes = static_cast<unsigned>(std::min<unsigned long>(std::strtoul(text, nullptr, 10), kMostShares));
    }
    s.all = std::getenv("EMU_SHARE_ALL") != nullptr;
}

/// Words of device memory side by side, and what is remembered of each.
struct Stretch {
    Stretch(uintptr_t begin, size_t bytes, bool arena)
        : memory(reinterpret_cast<unsigned char*>(begin)), count((bytes + kCellBytes - 1) / kCellBytes), arena(arena) {}
    unsigned char* memory;
    size_t count;
    bool arena;
    const Cell& cell(size_t word) const {
        if (!arena) return symbol_cells[cell_index(word)];
        constexpr size_t kEach = kCellPage / kCellBytes;
        return arena_cells[word / kEach][cell_index(word % kEach)];
    }
};

/// The words of the arena, then those of symbols; empty where some have no cells.
std::vector<Stretch> all_words() {
    const Shadow& s = shadow();
    std::vector<Stretch> all;
    for (size_t page = 0; s.high && page <= (s.high - 1) / kCellPage; ++page) {
        if (!arena_cells[page]) return {};
    }
    if (s.high) all.emplace_back(s.arena.begin, s.high, true);
    if (s.symbols.bytes && symbol_cells) all.emplace_back(s.symbols.begin, s.symbols.bytes, false);
    return all;
}

size_t total(const std::vector<Stretch>& all) {
    size_t count = 0;
    for (const Stretch& words : all) count += words.count;
    return count;
}

uint32_t word_at(const unsigned char* memory, size_t word) {
    uint32_t value;
    std::memcpy(&value, memory + word * kCellBytes, sizeof value);
    return value;
}

/// All bits of the bytes whose bits are set.
uint32_t bytes_of(unsigned bits) {
    return ((bits & 1) | (bits & 2) << 7 | (bits & 4) << 14 | (bits & 8) << 21) * 0xFFu;
}

// What a share did to a word: the bytes it read, and in the upper half those it wrote.
constexpr unsigned kWritten = 4, kRead = 0xF;

unsigned touched_since(const Cell& cell, uint32_t segment) {
    const Marks& marks = cell.marks;
    if (!(marks[0] | marks[1] | marks[2] | marks[3])) return 0;
    unsigned touched = 0;
    for (unsigned i = 0; i < 4; ++i) {
        if (segment_of(marks[i]) <= segment) continue;
        const auto bytes = static_cast<unsigned>((marks[i] & kByteBits) >> kBytesShift);
        touched |= marks[i] & kWrite ? bytes << kWritten : bytes;
    }
    return touched;
}

/// What a share leaves behind, in memory that it has in common with the process that waits for it.
struct Told {
    uint64_t blocks;  // done
    uint64_t accesses, barriers, meetings;
    uint64_t rest;    // of the arena, without what was written: a sum over all words
};

uint64_t mixed(size_t word, uint32_t value) { return (value + 0x9E3779B97F4A7C15) * (2 * word + 1); }

class Share {
public:
    Share() = default;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() {
        if (room_) munmap(room_, bytes_);
        stop();
    }

    bool make_room(size_t words) {
        bytes_ = sizeof(Told) + words * (sizeof(uint32_t) + 1);
        void* room = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) return false;
        room_ = room;
        told = static_cast<Told*>(room);
        values = reinterpret_cast<uint32_t*>(told + 1);
        touched = reinterpret_cast<unsigned char*>(values + words);
        return true;
    }

    void stop() {
        if (process <= 0) return;
        kill(process, SIGKILL);
        wait(0);
    }

    /// Whether it has ended; `ended_well` tells how.
    bool wait(int options) {
        int status = 0;
        pid_t found;
        while ((found = waitpid(process, &status, options)) < 0 && errno == EINTR) {
        }
        if (found == 0) return false;
        ended_well = found == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        process = 0;
        return true;
    }

    pid_t process = 0;
    bool ended_well = false;
    Told* told = nullptr;
    uint32_t* values = nullptr;
    unsigned char* touched = nullptr;

private:
    void* room_ = nullptr;
    size_t bytes_ = 0;
};

void tell(Share& share, const std::vector<Stretch>& all, uint32_t segment) {
    size_t at = 0;
    for (const Stretch& words : all) {
        for (size_t word = 0; word < words.count; ++word, ++at) {
            const unsigned touched = touched_since(words.cell(word), segment);
            const uint32_t value = word_at(words.memory, word);
            if (touched) share.touched[at] = static_cast<unsigned char>(touched);
            if (touched >> kWritten) share.values[at] = value;
            if (words.arena) share.told->rest += mixed(word, value & ~bytes_of(touched >> kWritten));
        }
    }
}

[[noreturn]] void run_share(Share& share, const std::vector<Stretch>& all, uint64_t begin, uint64_t end,
                            const BlockRange& run) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    in_share = only_host_thread = true;
    follower = {};
    const int printed = redirect_output();
    const uint32_t segment = races.latest;
    const LaunchRecord before = running_block->launch->record;
    const uint64_t accesses = hooks.accesses;
    for (uint64_t i = begin; i < end; ++i) {
        if (!run(i, i + 1)) give_up_share();
        ++share.told->blocks;
    }
    std::fflush(stdout);  // no other file: what waits to be written there is the program's own
    char byte;
    if (printed < 0 || read(printed, &byte, 1) > 0) give_up_share();
    const LaunchRecord& after = running_block->launch->record;
    share.told->accesses = hooks.accesses - accesses;
    share.told->barriers = after.barriers - before.barriers;
    share.told->meetings = after.warp_meetings - before.warp_meetings;
    tell(share, all, segment);
    _exit(0);
}

using ManyShares = std::vector<Share>;

// False as soon as one is given up.
bool wait_for(ManyShares& running, uint64_t next, uint64_t count) {
    for (size_t ended = 0; ended < running.size();) {
        uint64_t done = next;
        for (Share& share : running) {
            done += share.told->blocks;
            if (!share.process || !share.wait(WNOHANG)) continue;
            ++ended;
            if (!share.ended_well) return false;
        }
        if (follower.block) follower.block(*running_block, std::min(done, count - 1), count);
        const timespec nap{0, kNap};
        if (ended < running.size()) nanosleep(&nap, nullptr);
    }
    return true;
}

// Whether no share touched what another one wrote, and all wrote nothing but what they say.
bool agree(const ManyShares& ended, const std::vector<Stretch>& all) {
    std::vector<uint64_t> rest(ended.size(), 0);
    size_t at = 0;
    for (const Stretch& words : all) {
        for (size_t word = 0; word < words.count; ++word, ++at) {
            const uint32_t value = word_at(words.memory, word);
            unsigned written = 0, writers = 0, readers = 0;
            for (size_t i = 0; i < ended.size(); ++i) {
                const unsigned touched = ended[i].touched[at], own = touched >> kWritten;
                if (written & own) return false;
                written |= own;
                if (own) writers |= 1u << i;
                if (touched & kRead) readers |= 1u << i;
                if (words.arena) rest[i] += mixed(word, value & ~bytes_of(own));
            }
            // of the bytes that are read a cell may forget some, so the word counts
            const bool one = !(writers & (writers - 1));
            if (writers && (one ? readers & ~writers : readers)) return false;
        }
    }
    for (size_t i = 0; i < ended.size(); ++i) {
        if (rest[i] != ended[i].told->rest) return false;
    }
    return true;
}

void take_over(const Share& share, const std::vector<Stretch>& all) {
    size_t at = 0;
    for (const Stretch& words : all) {
        for (size_t word = 0; word < words.count; ++word, ++at) {
            const unsigned written = share.touched[at] >> kWritten;
            if (!written) continue;
            unsigned char* place = words.memory + word * kCellBytes;
            const uint32_t bits = bytes_of(written);
            const uint32_t value = (word_at(words.memory, word) & ~bits) | (share.values[at] & bits);
            std::memcpy(place, &value, sizeof value);
            for (unsigned i = 0; words.arena && i < kCellBytes; ++i) {
                if (written >> i & 1) shadow().arena.written.set(word * kCellBytes + i, 1);
            }
        }
    }
    LaunchRecord& record = running_block->launch->record;
    record.barriers += share.told->barriers;
    record.warp_meetings += share.told->meetings;
    hooks.accesses += share.told->accesses;
    hooks.blocks += share.told->blocks;
}

/// So many shares at most: as many as there are processors, and as their copies have room for.
uint64_t most_shares() {
    return std::min<uint64_t>(shares().processes, kMostCopied / (kCopied * std::max<size_t>(shadow().high, 1)));
}

bool run_beside_each_other(uint64_t next, uint64_t count, const BlockRange& run) {
    const std::vector<Stretch> all = all_words();
    const uint64_t left = count - next, processes = std::min(most_shares(), left);
    ManyShares running(processes);
    for (Share& share : running) {
        if (all.empty() || !share.make_room(total(all))) return false;
    }
    std::fflush(stdout);  // else each would print what waits
    for (uint64_t i = 0; i < processes; ++i) {
        running[i].process = fork();
        if (running[i].process < 0) return false;
        if (running[i].process) continue;
        run_share(running[i], all, next + left * i / processes, next + left * (i + 1) / processes, run);
    }
    if (!wait_for(running, next, count) || !agree(running, all)) return false;
    uint64_t accesses = hooks.accesses;
    for (const Share& share : running) accesses += share.told->accesses;
    if (accesses > hooks.limit) return false;
    for (const Share& share : running) take_over(share, all);
    return true;
}

bool worth_it(const Launch& launch, uint64_t next, uint64_t count) {
    const Shares& s = shares();
    if (most_shares() < 2 || mode != EMU_CHECK || launch.cooperative || in_share || in_twin()) return false;
    if (next == 0 || count - next < most_shares() || s.messages || holds_unwritten || races.unsettled) return false;
    if (shadow().high > kMostBytes || s.refused.count(launch.kernel)) return false;
    const long taken = nanoseconds() - s.begun;
    if (s.all) return true;
    const double left = static_cast<double>(taken) / static_cast<double>(next) * static_cast<double>(count - next);
    return taken >= kLook && left >= static_cast<double>(kWorth) + kWorthEach * static_cast<double>(shadow().high);
}

}  // namespace

void shares_launch() {
    look_at_settings();
    shares().messages = false;
    shares().begun = nanoseconds();
}

void shares_message(uintptr_t address) {
    if (!shadow().shared.contains(address)) shares().messages = true;
}

bool run_in_shares(const Launch& launch, uint64_t next, uint64_t count, const BlockRange& run) {
    if (!worth_it(launch, next, count)) return false;
    if (run_beside_each_other(next, count, run)) return true;
    shares().refused.insert(launch.kernel);
    return false;
}

}  // namespace emu
