// The entry points that g++ and clang++ -fsanitize=thread call before plain and volatile accesses.
#include "observe/hooks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "races/messages.h"
#include "run/block_sample.h"
#include "run/defects.h"
#include "run/state.h"
#include "shadow/shares.h"

namespace emu {

Hooks hooks{};  // all zeros before any constructor runs: a program starts the device from one

namespace {

constexpr unsigned kVolatileReadsPerTurn = 64;
constexpr uint64_t kMaxSpins = 1 << 22;
constexpr size_t kMaxPiece = 16;
constexpr int kLaunchTimeout = 702;  // cudaErrorLaunchTimeout

Access access_of(const void* address, unsigned bytes, bool write, const void* pc) {
    return Access{reinterpret_cast<uintptr_t>(address), bytes, write, false, false, false, true, pc};
}

// An atomic that finds what the last one at the same place found.
bool changes_nothing(const Access& access) {
    struct Seen {
        uintptr_t address;
        uint64_t value;
    };
    static Seen seen[1024];  // threads may wait for as many places, each for its own
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(access.address), std::min<size_t>(access.bytes, sizeof value));
    Seen& last = seen[(access.address / 4 ^ access.address >> 12) % 1024];
    const bool same = access.address == last.address && value == last.value;
    last = Seen{access.address, value};
    return same;
}

}  // namespace

// `before` the read of `bytes` that was told just now: whether a write was, which may be the same copy's.
void watch_copy(uint64_t before, size_t bytes) {
    if (hooks.last_write.number == before && hooks.last_write.bytes == bytes) watch_store(hooks.last_write.address, bytes);
}

void report_runaway() {
    Defect defect;
    defect.kind = "runaway";
    defect.text = "the launch made more than " + std::to_string(hooks.limit) + " accesses and was ended";
    report(defect);
    end_launch(kLaunchTimeout);
}

void note_spin(const Access& access) {
    if (hooks.accesses != hooks.last_spin + 1) hooks.spins = 0;
    hooks.last_spin = hooks.accesses;
    if (++hooks.spins <= kMaxSpins) return;
    const Launch& launch = *running_block->launch;
    const uint64_t blocks = static_cast<uint64_t>(launch.grid.x) * launch.grid.y * launch.grid.z;
    if (!shadow().shared.contains(access.address) && is_too_large(launch.grid)) {
        unsupported("a sample of the blocks (--blocks) of a kernel whose blocks wait for each other", launch.kernel->site);
    }
    if (!shadow().shared.contains(access.address) && hooks.blocks < blocks) {
        state().blocks_waited = true;
        unsupported("a block that waits for one that runs after it", launch.kernel->site);
    }
    const Place place = place_of(access.address);
    Defect defect;
    defect.kind = "deadlock";
    defect.text = "threads wait in a loop for a value at byte " + std::to_string(place.offset) + " of `" + place.name +
                  "`, and no thread writes any more";
    defect.pc = access.pc;
    defect.space = place.space;
    defect.access = access.verb();
    defect.bytes = access.bytes;
    defect.buffer = place.name;
    defect.offset = place.offset;
    report(defect);
    end_launch(kLaunchTimeout);
}

void observe_elsewhere(const Access& access) {
    if (mode & EMU_CHECK) {
        if (!check_elsewhere(access)) return;
        const size_t offset = shadow().symbols.offset(access.address);
        if (symbol_cells) check_race(symbol_cells, offset, races.launch, access);
    }
    if (mode & EMU_COUNT) count_symbol(access.address, access.bytes, traffic_of(access), access.pc);
}

void observe_on_host(const Access& access) {
    if (mode & EMU_CHECK) check_host(access);
}

void observe_range(const void* address, size_t bytes, bool write, const void* pc) {
    if (!mode || !bytes) return;
    auto at = reinterpret_cast<uintptr_t>(address);
    if (!running_thread) return observe_on_host(access_of(address, static_cast<unsigned>(bytes), write, pc));
    const size_t step = std::min(kMaxPiece, ((at | bytes) & -(at | bytes)));
    const InPieces pieces;
    const uint64_t before = hooks.accesses;
    for (const uintptr_t end = at + bytes; at < end; at += step) {
        observe(access_of(reinterpret_cast<const void*>(at), static_cast<unsigned>(step), write, pc));
    }
    if (write) hooks.last_write = LastWrite{at - bytes, bytes, hooks.accesses};
    if (write || !holds_unwritten) return;
    read_in_pieces(at - bytes, bytes);
    watch_copy(before, bytes);
}

void observe_volatile(Access access) {
    if (!access.write && ++hooks.volatile_reads[running_thread->linear] % kVolatileReadsPerTurn == 0) yield();
    access.is_volatile = true;
    const bool checked = mode & EMU_CHECK;
    access.strong = checked && (!access.write || has_fenced());
    observe(access);
    shares_message(access.address);
    if (!access.write) note_spin(access);
    if (checked && access.strong) messages_atomic(access.address, !access.write, access.write);
}

void observe_atomic(const void* address, unsigned bytes, bool takes, bool posts, const void* pc) {
    Access access = access_of(address, bytes, posts, pc);
    access.strong = access.atomic = true;
    observe(access);
    shares_message(access.address);
    if (changes_nothing(access)) note_spin(access);
    if (mode & EMU_CHECK) messages_atomic(access.address, takes, posts);
}

}  // namespace emu

using namespace emu;

namespace {

// Between the two hooks of one copy no other access counts.
[[gnu::noinline]] void preempt_between_hooks() {
    const LastWrite last = hooks.last_write;
    const bool just_now = last.number == hooks.accesses;
    preempt();
    hooks.last_write = last;
    hooks.last_write.number = just_now ? hooks.accesses : 0;
}

// What `observe` does of an access that is not checked.
template <unsigned Bytes, bool Write>
[[gnu::always_inline]] inline void count_only(const void* address, const void* pc) {
    constexpr Traffic traffic = Write ? Traffic::Store : Traffic::Load;
    if (__builtin_expect(++hooks.accesses > hooks.limit, 0)) report_runaway();
    const auto at = reinterpret_cast<uintptr_t>(address);
    const Region &arena = shadow().arena, &shared = shadow().shared;
    if (arena.contains(at)) return count_global(arena.offset(at), Bytes, traffic, pc);
    if (shared.contains(at)) return count_shared(shared.offset(at), Bytes, traffic, pc);
    const auto stack = reinterpret_cast<uintptr_t>(running_thread->stack->lowest);
    if (at - stack >= kStackBytes) count_symbol(at, Bytes, traffic, pc);
}

template <unsigned Bytes, bool Write>
[[gnu::noinline]] void preempt_and_count(const void* address, const void* pc) {
    preempt();
    count_only<Bytes, Write>(address, pc);
}

template <unsigned Bytes, bool Write>
[[gnu::noinline]] void observe_plain(const void* address, const void* pc) {
    if (!mode) return;
    const Access access{reinterpret_cast<uintptr_t>(address), Bytes, Write, false, false, false, true, pc};
    if (!running_thread) return observe_on_host(access);
    if (__builtin_expect(--preempt_after <= 0, 0)) preempt_between_hooks();
    const uint64_t before = hooks.accesses;
    observe(access);
    if (Write) hooks.last_write = LastWrite{access.address, Bytes, hooks.accesses};
    else if (__builtin_expect(holds_unwritten, 0)) watch_copy(before, Bytes);
}

// Where accesses are only counted, which is a small part of the rest. The other ways are calls at its end, so that this
// one saves no registers.
template <unsigned Bytes, bool Write>
[[gnu::always_inline]] inline void plain(const void* address, const void* pc) {
    if ((mode & (EMU_CHECK | EMU_COUNT)) != EMU_COUNT) return observe_plain<Bytes, Write>(address, pc);
    if (!running_thread) return;
    if (__builtin_expect(--preempt_after <= 0, 0)) return preempt_and_count<Bytes, Write>(address, pc);
    count_only<Bytes, Write>(address, pc);
}

template <bool Write>
void by_volatile(const void* address, unsigned bytes, const void* pc) {
    if (!mode) return;
    const Access access{reinterpret_cast<uintptr_t>(address), bytes, Write, false, false, true, true, pc};
    if (!running_thread) return observe_on_host(access);
    may_preempt();
    observe_volatile(access);
}

}  // namespace

#define EMU_HOOKS(bytes)                                                                                              \
    void __tsan_read##bytes(void* p) { plain<bytes, false>(p, EMU_PC); }                                              \
    void __tsan_write##bytes(void* p) { plain<bytes, true>(p, EMU_PC); }                                              \
    void __tsan_read##bytes##_pc(void* p, void* pc) { plain<bytes, false>(p, pc); }                                   \
    void __tsan_write##bytes##_pc(void* p, void* pc) { plain<bytes, true>(p, pc); }                                   \
    void __tsan_volatile_read##bytes(void* p) { by_volatile<false>(p, bytes, EMU_PC); }                               \
    void __tsan_volatile_write##bytes(void* p) { by_volatile<true>(p, bytes, EMU_PC); }                               \
    void __tsan_read_write##bytes(void* p) {                                                                          \
        plain<bytes, false>(p, EMU_PC);                                                                               \
        plain<bytes, true>(p, EMU_PC);                                                                                \
    }
#define EMU_UNALIGNED_HOOKS(bytes)                                                                                    \
    void __tsan_unaligned_read##bytes(void* p) { observe_range(p, bytes, false, EMU_PC); }                            \
    void __tsan_unaligned_write##bytes(void* p) { observe_range(p, bytes, true, EMU_PC); }                            \
    void __tsan_unaligned_volatile_read##bytes(void* p) { by_volatile<false>(p, bytes, EMU_PC); }                     \
    void __tsan_unaligned_volatile_write##bytes(void* p) { by_volatile<true>(p, bytes, EMU_PC); }                     \
    void __tsan_unaligned_read_write##bytes(void* p) {                                                                \
        observe_range(p, bytes, false, EMU_PC);                                                                       \
        observe_range(p, bytes, true, EMU_PC);                                                                        \
    }

extern "C" {
EMU_HOOKS(1)
EMU_HOOKS(2)
EMU_HOOKS(4)
EMU_HOOKS(8)
EMU_HOOKS(16)
EMU_UNALIGNED_HOOKS(2)
EMU_UNALIGNED_HOOKS(4)
EMU_UNALIGNED_HOOKS(8)
EMU_UNALIGNED_HOOKS(16)
void __tsan_read_range(void* p, size_t bytes) { observe_range(p, bytes, false, EMU_PC); }
void __tsan_write_range(void* p, size_t bytes) { observe_range(p, bytes, true, EMU_PC); }
void __tsan_vptr_read(void** p) { plain<8, false>(p, EMU_PC); }
void __tsan_vptr_update(void** p, void*) { plain<8, true>(p, EMU_PC); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}
}
