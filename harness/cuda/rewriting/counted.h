// What operators of device code become where arithmetic is counted: `a * b` is written `a * ::emu::counted::times * b`,
// which binds as before and leaves the operands as they are.
#pragma once

#define EMU_COUNTS_ARITHMETIC 1

#include <type_traits>
#include <utility>

#include "arithmetic.h"
#include "cuda_runtime.h"
#include "emulator.h"

namespace emu::numbers {
template <class Format>
struct Narrow;
template <class Format>
struct NarrowPair;
}  // namespace emu::numbers

namespace emu::counted {

// one for all units
extern "C" __attribute__((weak, visibility("hidden"), used)) Arithmetic emu_arithmetic{};

/// How a type's arithmetic counts: as which number's, and as how many; 0 is not counted.
struct Weight {
    Number number;
    unsigned lanes;
};
template <class T>
struct Weighed {
    static constexpr Weight weight{Number::Float, 0};
};
template <>
struct Weighed<float> {
    static constexpr Weight weight{Number::Float, 1};
};
template <>
struct Weighed<double> {
    static constexpr Weight weight{Number::Double, 1};
};
template <class Format>
constexpr Number narrow_number = Format::fraction_bits == 10 ? Number::Half : Number::Bfloat16;
template <class Format>
struct Weighed<numbers::Narrow<Format>> {
    static constexpr Weight weight{narrow_number<Format>, 1};
};
template <class Format>
struct Weighed<numbers::NarrowPair<Format>> {
    static constexpr Weight weight{narrow_number<Format>, 2};
};

/// Add to a count. The counter is no memory to the compiler: it is free to load once what is used
/// on both sides of a count, as without one.
template <Number number, Operation operation, unsigned times>
EMU_INLINE void add() {
    constexpr unsigned place = static_cast<unsigned>(number) * kOperations + static_cast<unsigned>(operation);
    __asm__("addq %0, emu_arithmetic+%c1(%%rip)" : : "i"(times), "i"(place * sizeof(uint64_t)) : "cc");
}

/// One operation with a result of type T.
template <class T, Operation operation>
EMU_INLINE void count() {
    constexpr Weight weight = Weighed<std::decay_t<T>>::weight;
    if constexpr (weight.lanes != 0) add<weight.number, operation, weight.lanes>();
}

struct Plus {};
struct Minus {};
struct Times {};
struct Over {};
inline constexpr Plus plus{};
inline constexpr Minus minus{};
inline constexpr Times times{};
inline constexpr Over over{};

/// One operand, on its way to the other: an object as it is; anything else by value, as it may be a bit field or have no
/// address.
template <class Operator, class T>
struct Held {
    T value;
};
template <class T>
constexpr bool is_object = std::is_class_v<std::decay_t<T>> || std::is_union_v<std::decay_t<T>>;
template <class T>
using IfObject = std::enable_if_t<is_object<T>, int>;
template <class T>
using IfNumber = std::enable_if_t<!is_object<T>, int>;

// a result that the compiler knows is no operation of the kernel's
#define EMU_COUNTED_OPERATOR(sign, Operator, operation)                                                             \
    template <class A, IfNumber<A> = 0>                                                                              \
    EMU_INLINE constexpr Held<Operator, A> operator sign(A a, Operator) {                                           \
        return {a};                                                                                                 \
    }                                                                                                               \
    template <class A, IfObject<A> = 0>                                                                              \
    EMU_INLINE constexpr Held<Operator, A&&> operator sign(A&& a, Operator) {                                       \
        return {std::forward<A>(a)};                                                                                \
    }                                                                                                               \
    template <class A, class B, IfNumber<B> = 0>                                                                     \
    EMU_INLINE constexpr auto operator sign(Held<Operator, A> a, B b)                                               \
        -> decltype(std::forward<A>(a.value) sign b) {                                                              \
        using Result = decltype(std::forward<A>(a.value) sign b);                                                   \
        if constexpr (std::is_floating_point_v<Result>) {                                                           \
            const Result result = std::forward<A>(a.value) sign b;                                                  \
            if (!__builtin_is_constant_evaluated() && !__builtin_constant_p(result)) count<Result, operation>();    \
            return result;                                                                                          \
        } else {                                                                                                    \
            if (!__builtin_is_constant_evaluated()) count<Result, operation>();                                     \
            return std::forward<A>(a.value) sign b;                                                                 \
        }                                                                                                           \
    }                                                                                                               \
    template <class A, class B, IfObject<B> = 0>                                                                     \
    EMU_INLINE constexpr auto operator sign(Held<Operator, A> a, B&& b)                                             \
        -> decltype(std::forward<A>(a.value) sign std::forward<B>(b)) {                                             \
        using Result = decltype(std::forward<A>(a.value) sign std::forward<B>(b));                                  \
        if (!__builtin_is_constant_evaluated()) count<Result, operation>();                                         \
        return std::forward<A>(a.value) sign std::forward<B>(b);                                                    \
    }                                                                                                               \
    template <class B, IfNumber<B> = 0>                                                                              \
    EMU_INLINE constexpr Held<Operator, B> operator sign##=(Operator, B b) {                                        \
        return {b};                                                                                                 \
    }                                                                                                               \
    template <class B, IfObject<B> = 0>                                                                              \
    EMU_INLINE constexpr Held<Operator, B&&> operator sign##=(Operator, B&& b) {                                    \
        return {std::forward<B>(b)};                                                                                \
    }                                                                                                               \
    template <class A, class B>                                                                                     \
    EMU_INLINE constexpr auto operator sign##=(A&& a, Held<Operator, B> b)                                          \
        -> decltype(std::forward<A>(a) sign##= std::forward<B>(b.value)) {                                          \
        if constexpr (std::is_arithmetic_v<std::decay_t<A>>) {                                                      \
            using Result = decltype(std::declval<std::decay_t<A>>() sign std::declval<B>());                        \
            if (!__builtin_is_constant_evaluated()) count<Result, operation>();                                     \
        } else {                                                                                                    \
            if (!__builtin_is_constant_evaluated()) count<A, operation>();                                          \
        }                                                                                                           \
        return std::forward<A>(a) sign##= std::forward<B>(b.value);                                                 \
    }
EMU_COUNTED_OPERATOR(+, Plus, Operation::Add)
EMU_COUNTED_OPERATOR(-, Minus, Operation::Add)
EMU_COUNTED_OPERATOR(*, Times, Operation::Multiply)
EMU_COUNTED_OPERATOR(/, Over, Operation::Divide)
#undef EMU_COUNTED_OPERATOR

/// The result of a function that is one operation, as `fmaf`.
#define EMU_COUNTED_CALL(name, operation)      \
    template <class T>                         \
    EMU_INLINE constexpr T name(T result) {    \
        count<T, Operation::operation>();      \
        return result;                         \
    }
EMU_COUNTED_CALL(added, Add)
EMU_COUNTED_CALL(multiplied, Multiply)
EMU_COUNTED_CALL(fused, Fused)
EMU_COUNTED_CALL(divided, Divide)
EMU_COUNTED_CALL(function, Function)
#undef EMU_COUNTED_CALL

}  // namespace emu::counted
