// Algorithms that look at each element once.
#pragma once

#include "functional.h"
#include "running.h"

namespace emu::algorithm {

struct fill {
    template <class I, class T>
    static void run(Call call, I first, I last, T value) {
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            const std::ptrdiff_t n = last - first;
            writes(call, first, n);
            for (std::ptrdiff_t i = 0; i < n; ++i) stored(first, i, static_cast<ValueOf<I>>(value));
        });
    }
};
struct fill_n {
    template <class I, class N, class T>
    static I run(Call call, I first, N n, T value) {
        fill::run(call, first, first + static_cast<std::ptrdiff_t>(n), value);
        return first + static_cast<std::ptrdiff_t>(n);
    }
};
struct tabulate {
    template <class I, class F>
    static void run(Call call, I first, I last, F function) {
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            const std::ptrdiff_t n = last - first;
            writes(call, first, n);
            for (std::ptrdiff_t i = 0; i < n; ++i) stored(first, i, static_cast<ValueOf<I>>(function(i)));
        });
    }
};
struct sequence {
    template <class I, class T = ValueOf<I>, class S = T>
    static void run(Call call, I first, I last, T start = T(0), S step = S(1)) {
        using Value = ValueOf<I>;
        tabulate::run(call, first, last, [=](std::ptrdiff_t i) mutable EMU_UNINSTRUMENTED {
            return static_cast<Value>(start + static_cast<Value>(i) * step);
        });
    }
};
struct generate {
    template <class I, class F>
    static void run(Call call, I first, I last, F function) {
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            F own = function;
            const std::ptrdiff_t n = last - first;
            writes(call, first, n);
            for (std::ptrdiff_t i = 0; i < n; ++i) stored(first, i, static_cast<ValueOf<I>>(own()));
        });
    }
};
struct transform {
    template <class I, class O, class F>
    static O run(Call call, I first, I last, O out, F function) {
        const std::ptrdiff_t n = last - first;
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            reads(call, first, n);
            writes(call, out, n);
            for (std::ptrdiff_t i = 0; i < n; ++i) stored(out, i, function(loaded(first, i)));
        });
        return out + n;
    }
    template <class I, class J, class O, class F>
    static O run(Call call, I first, I last, J second, O out, F function) {
        const std::ptrdiff_t n = last - first;
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            reads(call, first, n);
            reads(call, second, n);
            writes(call, out, n);
            for (std::ptrdiff_t i = 0; i < n; ++i) stored(out, i, function(loaded(first, i), loaded(second, i)));
        });
        return out + n;
    }
};
struct copy {
    template <class I, class O>
    static O run(Call call, I first, I last, O out) {
        const std::ptrdiff_t n = last - first;
        constexpr bool up = Elements<I>::host && Elements<O>::device, down = Elements<I>::device && Elements<O>::host;
        if (on_device() || call.told || !(up || down)) {
            return transform::run(call, first, last, out, [](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
                return value;
            });
        }
        // from one memory to the other: what is read is set aside between
        Scratch<ValueOf<I>> between(n);
        ValueOf<I>* values = between.get();
        Call here = call, there = call;
        here.device = down;
        there.device = up;
        emu::run(here, [=]() mutable EMU_UNINSTRUMENTED {
            reads(here, first, n);
            gather(first, n, values);
        });
        emu::run(there, [=]() mutable EMU_UNINSTRUMENTED {
            writes(there, out, n);
            spread(values, n, out);
        });
        return out + n;
    }
};
struct copy_n {
    template <class I, class N, class O>
    static O run(Call call, I first, N n, O out) {
        return copy::run(call, first, first + static_cast<std::ptrdiff_t>(n), out);
    }
};
struct for_each {
    template <class I, class F>
    static I run(Call call, I first, I last, F function) {
        const std::ptrdiff_t n = last - first;
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            // the function gets the elements themselves: what it does with them is watched where it does it
            constexpr bool by_value = std::is_invocable<F&, ValueOf<I>>::value;
            if (by_value && !IsZip<I>::value) reads(call, first, n);
            for (std::ptrdiff_t i = 0; i < n; ++i) function(Elements<I>::at(first, i));
        });
        return last;
    }
};
struct for_each_n {
    template <class I, class N, class F>
    static I run(Call call, I first, N n, F function) {
        return for_each::run(call, first, first + static_cast<std::ptrdiff_t>(n), function);
    }
};
struct transform_reduce {
    template <class I, class F, class T, class B>
    static T run(Call call, I first, I last, F function, T start, B combine) {
        T result = start;
        T* kept = &result;
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            const std::ptrdiff_t n = last - first;
            reads(call, first, n);
            T sum = start;
            for (std::ptrdiff_t i = 0; i < n; ++i) sum = combine(sum, static_cast<T>(function(loaded(first, i))));
            Elements<T*>::store(kept, 0, &sum);
        });
        return result;
    }
};
struct reduce {
    template <class I, class T, class B>
    static T run(Call call, I first, I last, T start, B combine) {
        return transform_reduce::run(call, first, last, [](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
            return value;
        }, start, combine);
    }
    template <class I, class T = ValueOf<I>>
    static T run(Call call, I first, I last, T start = T{}) {
        return run(call, first, last, start, thrust::plus<>());
    }
};
struct inner_product {
    template <class I, class J, class T, class A, class M>
    static T run(Call call, I first, I last, J second, T start, A combine, M product) {
        const auto both = thrust::make_zip_iterator(first, second);
        return transform_reduce::run(
            call, both, both + (last - first),
            [=](const std::tuple<ValueOf<I>, ValueOf<J>>& pair) mutable EMU_UNINSTRUMENTED {
                return product(std::get<0>(pair), std::get<1>(pair));
            },
            start, combine);
    }
    template <class I, class J, class T>
    static T run(Call call, I first, I last, J second, T start) {
        return run(call, first, last, second, start, thrust::plus<>(), thrust::multiplies<>());
    }
};
struct count_if {
    template <class I, class P>
    static std::ptrdiff_t run(Call call, I first, I last, P holds) {
        return transform_reduce::run(
            call, first, last, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
                return std::ptrdiff_t(holds(value) ? 1 : 0);
            },
            std::ptrdiff_t(0), thrust::plus<>());
    }
};
struct count {
    template <class I, class T>
    static std::ptrdiff_t run(Call call, I first, I last, T wanted) {
        return count_if::run(call, first, last, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
            return value == wanted;
        });
    }
};
struct find_if {
    template <class I, class P>
    static I run(Call call, I first, I last, P holds) {
        std::ptrdiff_t place = last - first;
        std::ptrdiff_t* kept = &place;
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            const std::ptrdiff_t n = last - first;
            for (std::ptrdiff_t i = 0; i < n; ++i) {
                reads(call, first + i, 1);
                if (!holds(loaded(first, i))) continue;
                *kept = i;
                return;
            }
        });
        return first + place;
    }
};
struct find {
    template <class I, class T>
    static I run(Call call, I first, I last, T wanted) {
        return find_if::run(call, first, last, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
            return value == wanted;
        });
    }
};
struct any_of {
    template <class I, class P>
    static bool run(Call call, I first, I last, P holds) { return find_if::run(call, first, last, holds) != last; }
};
struct none_of {
    template <class I, class P>
    static bool run(Call call, I first, I last, P holds) { return !any_of::run(call, first, last, holds); }
};
struct all_of {
    template <class I, class P>
    static bool run(Call call, I first, I last, P holds) {
        return none_of::run(call, first, last, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
            return !holds(value);
        });
    }
};
struct equal {
    template <class I, class J>
    static bool run(Call call, I first, I last, J second) {
        const auto both = thrust::make_zip_iterator(first, second);
        return all_of::run(call, both, both + (last - first), [](const std::tuple<ValueOf<I>,
            ValueOf<J>>& pair) mutable EMU_UNINSTRUMENTED {
            return std::get<0>(pair) == std::get<1>(pair);
        });
    }
};
/// The first element that no other one comes before, in an order.
struct min_element {
    template <class I, class L = thrust::less<>>
    static I run(Call call, I first, I last, L before = {}) {
        std::ptrdiff_t place = 0;
        std::ptrdiff_t* kept = &place;
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            const std::ptrdiff_t n = last - first;
            reads(call, first, n);
            for (std::ptrdiff_t i = 1; i < n; ++i) {
                if (before(loaded(first, i), loaded(first, *kept))) *kept = i;
            }
        });
        return first + place;
    }
};
struct max_element {
    template <class I, class L = thrust::less<>>
    static I run(Call call, I first, I last, L before = {}) {
        using Value = ValueOf<I>;
        return min_element::run(call, first, last, [=](const Value& a, const Value& b) mutable EMU_UNINSTRUMENTED {
            return before(b, a);
        });
    }
};
struct minmax_element {
    template <class I>
    static thrust::pair<I, I> run(Call call, I first, I last) {
        return {min_element::run(call, first, last), max_element::run(call, first, last)};
    }
};
struct gather {
    template <class M, class I, class O>
    static O run(Call call, M first, M last, I elements, O out) {
        const auto chosen = thrust::make_permutation_iterator(elements, first);
        return copy::run(call, chosen, chosen + (last - first), out);
    }
};
struct scatter {
    template <class I, class M, class O>
    static void run(Call call, I first, I last, M places, O out) {
        copy::run(call, first, last, thrust::make_permutation_iterator(out, places));
    }
};
struct replace_if {
    template <class I, class P, class T>
    static void run(Call call, I first, I last, P holds, T by) {
        transform::run(call, first, last, first, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
            return holds(value) ? static_cast<ValueOf<I>>(by) : value;
        });
    }
};
struct replace {
    template <class I, class T>
    static void run(Call call, I first, I last, T old, T by) {
        replace_if::run(call, first, last, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
            return value == old;
        }, by);
    }
};

}  // namespace emu::algorithm

EMU_ALGORITHM(fill) EMU_ALGORITHM(fill_n) EMU_ALGORITHM(tabulate) EMU_ALGORITHM(sequence) EMU_ALGORITHM(generate)
EMU_ALGORITHM(transform) EMU_ALGORITHM(copy) EMU_ALGORITHM(copy_n) EMU_ALGORITHM(for_each) EMU_ALGORITHM(for_each_n)
EMU_ALGORITHM(transform_reduce) EMU_ALGORITHM(reduce) EMU_ALGORITHM(inner_product) EMU_ALGORITHM(count_if)
EMU_ALGORITHM(count) EMU_ALGORITHM(find_if) EMU_ALGORITHM(find) EMU_ALGORITHM(any_of) EMU_ALGORITHM(none_of)
EMU_ALGORITHM(all_of) EMU_ALGORITHM(equal) EMU_ALGORITHM(min_element) EMU_ALGORITHM(max_element)
EMU_ALGORITHM(minmax_element) EMU_ALGORITHM(gather) EMU_ALGORITHM(scatter) EMU_ALGORITHM(replace_if)
EMU_ALGORITHM(replace)
