// libcu++'s atomics: the compiler's builtins, which tell the device of themselves and of their order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda_runtime.h"

namespace cuda {

namespace std {
using namespace ::std;
}

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

using memory_order = ::std::memory_order;
inline constexpr memory_order memory_order_relaxed = ::std::memory_order_relaxed;
inline constexpr memory_order memory_order_consume = ::std::memory_order_consume;
inline constexpr memory_order memory_order_acquire = ::std::memory_order_acquire;
inline constexpr memory_order memory_order_release = ::std::memory_order_release;
inline constexpr memory_order memory_order_acq_rel = ::std::memory_order_acq_rel;
inline constexpr memory_order memory_order_seq_cst = ::std::memory_order_seq_cst;

EMU_INLINE void atomic_thread_fence(memory_order, thread_scope scope = thread_scope_system) {
    if (scope == thread_scope_block) __threadfence_block();
    else if (scope == thread_scope_device) __threadfence();
    else if (scope == thread_scope_system) __threadfence_system();
}

/// The operations of atomic and atomic_ref on `value()`.
template <class Self, class T>
class atomic_operations {
    static_assert(::std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "an atomic has at most 8 bytes here");

public:
    using value_type = T;
    static constexpr bool is_always_lock_free = true;
    bool is_lock_free() const { return true; }

    EMU_INLINE T load(memory_order order = memory_order_seq_cst) const {
        T result;
        __atomic_load(place(), &result, static_cast<int>(order));
        return result;
    }
    EMU_INLINE void store(T value, memory_order order = memory_order_seq_cst) const {
        __atomic_store(place(), &value, static_cast<int>(order));
    }
    EMU_INLINE T exchange(T value, memory_order order = memory_order_seq_cst) const {
        T result;
        __atomic_exchange(place(), &value, &result, static_cast<int>(order));
        return result;
    }
    EMU_INLINE bool compare_exchange_strong(T& expected, T value, memory_order order = memory_order_seq_cst) const {
        return __atomic_compare_exchange(place(), &expected, &value, false, static_cast<int>(order), __ATOMIC_ACQUIRE);
    }
    EMU_INLINE bool compare_exchange_strong(T& expected, T value, memory_order order, memory_order) const {
        return compare_exchange_strong(expected, value, order);
    }
    EMU_INLINE bool compare_exchange_weak(T& expected, T value, memory_order order = memory_order_seq_cst) const {
        return compare_exchange_strong(expected, value, order);
    }
    EMU_INLINE bool compare_exchange_weak(T& expected, T value, memory_order order, memory_order) const {
        return compare_exchange_strong(expected, value, order);
    }
    EMU_INLINE operator T() const { return load(); }

#define EMU_CHANGED(name, expression)                                                         \
    EMU_INLINE T name(T value, memory_order order = memory_order_seq_cst) const {             \
        T old = load(memory_order_relaxed);                                                   \
        while (!compare_exchange_strong(old, static_cast<T>(expression), order)) {            \
        }                                                                                     \
        return old;                                                                           \
    }
    EMU_CHANGED(fetch_add, old + value)
    EMU_CHANGED(fetch_sub, old - value)
    EMU_CHANGED(fetch_min, value < old ? value : old)
    EMU_CHANGED(fetch_max, old < value ? value : old)
    EMU_CHANGED(fetch_and, old & value)
    EMU_CHANGED(fetch_or, old | value)
    EMU_CHANGED(fetch_xor, old ^ value)
#undef EMU_CHANGED
    EMU_INLINE T operator++() const { return static_cast<T>(fetch_add(1) + 1); }
    EMU_INLINE T operator++(int) const { return fetch_add(1); }
    EMU_INLINE T operator--() const { return static_cast<T>(fetch_sub(1) - 1); }
    EMU_INLINE T operator--(int) const { return fetch_sub(1); }
    EMU_INLINE T operator+=(T value) const { return static_cast<T>(fetch_add(value) + value); }
    EMU_INLINE T operator-=(T value) const { return static_cast<T>(fetch_sub(value) - value); }
    EMU_INLINE T operator|=(T value) const { return static_cast<T>(fetch_or(value) | value); }
    EMU_INLINE T operator&=(T value) const { return static_cast<T>(fetch_and(value) & value); }
    EMU_INLINE T operator^=(T value) const { return static_cast<T>(fetch_xor(value) ^ value); }

    EMU_INLINE void wait(T old, memory_order order = memory_order_seq_cst) const {
        while (load(order) == old) emu::yield();
    }
    void notify_one() const {}
    void notify_all() const {}

private:
    EMU_INLINE T* place() const { return static_cast<const Self*>(this)->address(); }
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic : public atomic_operations<atomic<T, Scope>, T> {
public:
    atomic() = default;
    constexpr atomic(T value) : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    EMU_INLINE T operator=(T value) {
        this->store(value);
        return value;
    }
    EMU_INLINE T* address() const { return &value_; }

private:
    alignas(sizeof(T)) mutable T value_;
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public atomic_operations<atomic_ref<T, Scope>, T> {
public:
    static constexpr size_t required_alignment = sizeof(T);
    explicit atomic_ref(T& value) : address_(&value) {}
    EMU_INLINE T operator=(T value) const {
        this->store(value);
        return value;
    }
    EMU_INLINE T* address() const { return address_; }

private:
    T* address_;
};

}  // namespace cuda
