// The operations that older programs name for CUB's reductions and scans; newer ones use those of cuda::.
#pragma once

#include "../util_type.cuh"

namespace cub {

#define EMU_OPERATION(name, expression)                               \
    struct name {                                                     \
        template <class T>                                            \
        constexpr T operator()(const T& a, const T& b) const {        \
            return static_cast<T>(expression);                        \
        }                                                             \
    };
EMU_OPERATION(Sum, a + b)
EMU_OPERATION(Difference, a - b)
EMU_OPERATION(Division, a / b)
EMU_OPERATION(Max, a < b ? b : a)
EMU_OPERATION(Min, b < a ? b : a)
#undef EMU_OPERATION

struct Equality {
    template <class T>
    constexpr bool operator()(const T& a, const T& b) const { return a == b; }
};
struct Inequality {
    template <class T>
    constexpr bool operator()(const T& a, const T& b) const { return a != b; }
};

/// The pair with the larger value; of equal ones that with the smaller key.
struct ArgMax {
    template <class Key, class Value>
    constexpr KeyValuePair<Key, Value> operator()(const KeyValuePair<Key, Value>& a,
                                                  const KeyValuePair<Key, Value>& b) const {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class Key, class Value>
    constexpr KeyValuePair<Key, Value> operator()(const KeyValuePair<Key, Value>& a,
                                                  const KeyValuePair<Key, Value>& b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

}  // namespace cub
