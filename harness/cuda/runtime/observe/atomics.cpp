// The entry points for std::atomic and the compiler's atomic builtins in device code.
#include "observe/hooks.h"

using namespace emu;

namespace {

bool acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
bool releases(int order) { return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST; }

// A store needs no value to be there.
void give_value(const volatile void* address, unsigned bytes) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    for (Region* region : {&shadow().arena, &shadow().shared}) {
        if (region->contains(at) && at % bytes == 0 && bytes <= 8) region->written.set(region->offset(at), bytes);
    }
}

void before(const volatile void* address, unsigned bytes, bool reads, bool writes, int order, const void* pc) {
    if (!mode || !running_thread) return;
    may_preempt();
    if (reads && ++hooks.volatile_reads[running_thread->linear] % 64 == 0) yield();
    if ((mode & EMU_CHECK) && writes && releases(order)) on_fence(Scope::System);
    if (!reads) give_value(address, bytes);
    observe_atomic(const_cast<const void*>(address), bytes, reads && acquires(order), writes, pc);
}

// One OS thread runs all of the device; host code's own threads get the real thing up to eight bytes.
template <class T, class Operation>
T apply(volatile T* address, Operation operation) {
    if constexpr (sizeof(T) <= 8) {
        T old = __atomic_load_n(address, __ATOMIC_SEQ_CST);
        while (!__atomic_compare_exchange_n(address, &old, operation(old), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        }
        return old;
    } else {
        T old = *address;
        *address = operation(old);
        return old;
    }
}

template <class T>
bool replace(volatile T* address, T* expected, T desired) {
    const T wanted = *expected;
    *expected = apply(address, [&](T old) { return old == wanted ? desired : old; });
    return *expected == wanted;
}

}  // namespace

#define EMU_FETCH(bits, T, name, expression)                                                                          \
    T __tsan_atomic##bits##_##name(volatile T* p, T value, int order) {                                               \
        before(p, bits / 8, true, true, order, EMU_PC);                                                               \
        return apply(p, [=](T old) { return static_cast<T>(expression); });                                           \
    }
#define EMU_ATOMICS(bits, T)                                                                                          \
    T __tsan_atomic##bits##_load(const volatile T* p, int order) {                                                    \
        before(p, bits / 8, true, false, order, EMU_PC);                                                              \
        return *p;                                                                                                    \
    }                                                                                                                 \
    void __tsan_atomic##bits##_store(volatile T* p, T value, int order) {                                             \
        before(p, bits / 8, false, true, order, EMU_PC);                                                              \
        apply(p, [=](T) { return value; });                                                                           \
    }                                                                                                                 \
    EMU_FETCH(bits, T, exchange, (static_cast<void>(old), value))                                                     \
    EMU_FETCH(bits, T, fetch_add, old + value)                                                                        \
    EMU_FETCH(bits, T, fetch_sub, old - value)                                                                        \
    EMU_FETCH(bits, T, fetch_and, old & value)                                                                        \
    EMU_FETCH(bits, T, fetch_or, old | value)                                                                         \
    EMU_FETCH(bits, T, fetch_xor, old ^ value)                                                                        \
    EMU_FETCH(bits, T, fetch_nand, ~(old & value))                                                                    \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T desired, int order, int) {        \
        before(p, bits / 8, true, true, order, EMU_PC);                                                               \
        return replace(p, expected, desired);                                                                         \
    }                                                                                                                 \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T desired, int order, int) {          \
        before(p, bits / 8, true, true, order, EMU_PC);                                                               \
        return replace(p, expected, desired);                                                                         \
    }                                                                                                                 \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T desired, int order, int) {              \
        before(p, bits / 8, true, true, order, EMU_PC);                                                               \
        replace(p, &expected, desired);                                                                               \
        return expected;                                                                                              \
    }

extern "C" {
EMU_ATOMICS(8, uint8_t)
EMU_ATOMICS(16, uint16_t)
EMU_ATOMICS(32, uint32_t)
EMU_ATOMICS(64, uint64_t)
EMU_ATOMICS(128, unsigned __int128)
void __tsan_atomic_thread_fence(int order) {
    if (mode && running_thread && order != __ATOMIC_RELAXED) on_fence(Scope::System);
}
void __tsan_atomic_signal_fence(int) {}
}
