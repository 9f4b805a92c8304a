// Function objects and tuples by Thrust's names.
#pragma once

#include <tuple>
#include <utility>

#include "../../cuda/std/functional"

namespace thrust {

using std::get;
using std::ignore;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

#define EMU_BINARY(name, result, expression)                         \
    template <class T = void>                                        \
    struct name {                                                    \
        result operator()(const T& a, const T& b) const { return expression; } \
    };                                                               \
    template <>                                                      \
    struct name<void> {                                              \
        template <class A, class B>                                  \
        auto operator()(const A& a, const B& b) const { return expression; } \
    };
EMU_BINARY(plus, T, a + b)
EMU_BINARY(minus, T, a - b)
EMU_BINARY(multiplies, T, a * b)
EMU_BINARY(divides, T, a / b)
EMU_BINARY(modulus, T, a % b)
EMU_BINARY(bit_and, T, a & b)
EMU_BINARY(bit_or, T, a | b)
EMU_BINARY(bit_xor, T, a ^ b)
EMU_BINARY(maximum, T, a < b ? b : a)
EMU_BINARY(minimum, T, b < a ? b : a)
EMU_BINARY(equal_to, bool, a == b)
EMU_BINARY(not_equal_to, bool, a != b)
EMU_BINARY(less, bool, a < b)
EMU_BINARY(less_equal, bool, a <= b)
EMU_BINARY(greater, bool, b < a)
EMU_BINARY(greater_equal, bool, b <= a)
EMU_BINARY(logical_and, bool, a && b)
EMU_BINARY(logical_or, bool, a || b)
#undef EMU_BINARY
#define EMU_UNARY(name, result, expression)                  \
    template <class T>                                       \
    struct name {                                            \
        result operator()(const T& a) const { return expression; } \
    };
EMU_UNARY(negate, T, -a)
EMU_UNARY(square, T, a * a)
EMU_UNARY(identity, T, a)
EMU_UNARY(logical_not, bool, !a)
#undef EMU_UNARY

}  // namespace thrust
