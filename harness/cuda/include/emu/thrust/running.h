// Where an algorithm runs: in host code, in the kernel that calls it, or as a kernel of one thread.
#pragma once

#include "../library.h"
#include "iterators.h"

namespace emu {

struct Policy {
    bool device = true;
    cudaStream_t stream = nullptr;
    Policy on(cudaStream_t other) const { return {device, other}; }
};

/// A call of an algorithm: its name, where the author makes it, where it runs, and whether a policy said so.
struct Call {
    const char* name;
    const void* pc;
    bool device;
    bool told;
    cudaStream_t stream;
};

template <class A, class = void>
struct IsDevice : std::false_type {};
template <class A>
struct IsDevice<A, std::void_t<typename std::iterator_traits<A>::value_type>>
    : std::bool_constant<Elements<A>::device> {};

template <class Work>
EMU_UNINSTRUMENTED void run(const Call& call, Work work) {
    if (on_device() || !call.device) return work();
    configure({1, 1, 1}, {1, 1, 1}, 0, call.stream);
    launch(library_kernel(call.name), [=]() EMU_UNINSTRUMENTED {
        // what the author's functions hold is read on the thread's own stack, as a kernel's parameters are
        alignas(Work) unsigned char own[sizeof(Work)];
        __builtin_memcpy(own, static_cast<const void*>(&work), sizeof(Work));
        (*reinterpret_cast<Work*>(own))();
    });
}

/// Elements i of a range that are read, or written.
template <class I>
EMU_UNINSTRUMENTED void reads(const Call& call, const I& first, std::ptrdiff_t n) {
    if (!call.device) return;
    for (std::ptrdiff_t i = 0; i < n; ++i) Elements<I>::touch(first, i, false, call.pc);
}
template <class I>
EMU_UNINSTRUMENTED void writes(const Call& call, const I& first, std::ptrdiff_t n) {
    if (!call.device) return;
    for (std::ptrdiff_t i = 0; i < n; ++i) Elements<I>::touch(first, i, true, call.pc);
}

template <class I>
EMU_UNINSTRUMENTED ValueOf<I> loaded(const I& first, std::ptrdiff_t i) {
    ValueOf<I> value{};
    Elements<I>::load(first, i, &value);
    return value;
}
template <class I, class T>
EMU_UNINSTRUMENTED void stored(const I& first, std::ptrdiff_t i, const T& value) {
    if constexpr (std::is_same<I, thrust::discard_iterator>::value) return;
    else {
        const typename Elements<I>::Value same = value;
        Elements<I>::store(first, i, &same);
    }
}

/// Room for values while an algorithm works, which nobody watches.
template <class T>
class Scratch {
public:
    explicit Scratch(std::ptrdiff_t count)
        : values_(static_cast<T*>(::operator new(sizeof(T) * static_cast<size_t>(count + 1)))) {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { ::operator delete(values_); }
    T* get() const { return values_; }

private:
    T* values_;
};

/// The values of a range, and back.
template <class I>
EMU_UNINSTRUMENTED void gather(const I& first, std::ptrdiff_t n, ValueOf<I>* into) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        const ValueOf<I> value = loaded(first, i);
        Elements<ValueOf<I>*>::store(into, i, &value);
    }
}
template <class I, class T>
EMU_UNINSTRUMENTED void spread(const T* from, std::ptrdiff_t n, const I& first) {
    for (std::ptrdiff_t i = 0; i < n; ++i) stored(first, i, loaded(from, i));
}

/// A call without or with a policy as its first argument.
template <class Algorithm, class... A>
EMU_UNINSTRUMENTED auto dispatch(const char* name, const void* pc, const Policy& policy, const A&... args) {
    return Algorithm::run(Call{name, pc, policy.device, true, policy.stream}, args...);
}
template <class Algorithm, class First, class... A, class = std::enable_if_t<!std::is_base_of<Policy, First>::value>>
EMU_UNINSTRUMENTED auto dispatch(const char* name, const void* pc, const First& first, const A&... args) {
    const bool device = IsDevice<First>::value || (IsDevice<A>::value || ...);
    return Algorithm::run(Call{name, pc, device, false, nullptr}, first, args...);
}

}  // namespace emu

namespace thrust {

struct host_policy : emu::Policy {
    constexpr host_policy() : emu::Policy{false, nullptr} {}
};
struct device_policy : emu::Policy {};
inline const host_policy host, seq;
inline const device_policy device;
namespace cuda {
inline const device_policy par, par_nosync;
}  // namespace cuda
namespace system::cuda {
using thrust::cuda::par;
}  // namespace system::cuda

}  // namespace thrust

/// thrust::name, which runs emu::algorithm::name where its arguments say.
#define EMU_ALGORITHM(name)                                                                                   \
    namespace thrust {                                                                                        \
    template <class... A>                                                                                     \
    EMU_OUTLINE auto name(const A&... args) {                                                                 \
        return emu::dispatch<emu::algorithm::name>("thrust::" #name, EMU_PC, args...);                        \
    }                                                                                                         \
    }
