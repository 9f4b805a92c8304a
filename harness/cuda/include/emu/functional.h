// The operations that reductions and scans of cooperative groups know by name.
#pragma once

namespace cooperative_groups {

#define EMU_OPERATION(name, expression)                                 \
    template <class T>                                                  \
    struct name {                                                       \
        T operator()(const T& a, const T& b) const { return expression; } \
    };
EMU_OPERATION(plus, a + b)
EMU_OPERATION(less, b < a ? b : a)
EMU_OPERATION(greater, a < b ? b : a)
EMU_OPERATION(bit_and, a& b)
EMU_OPERATION(bit_or, a | b)
EMU_OPERATION(bit_xor, a ^ b)
#undef EMU_OPERATION

}  // namespace cooperative_groups
