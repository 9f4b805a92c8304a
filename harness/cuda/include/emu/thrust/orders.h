// Algorithms in which the place of an element depends on others: sums of what comes before, orders, selections.
#pragma once

#include "algorithms.h"

namespace emu {

/// Merge sort of n values by an order, stable; `room` holds as many.
template <class T, class L>
EMU_UNINSTRUMENTED void merge_sort(T* values, T* room, std::ptrdiff_t n, L& before) {
    for (std::ptrdiff_t width = 1; width < n; width *= 2) {
        for (std::ptrdiff_t begin = 0; begin < n; begin += 2 * width) {
            const std::ptrdiff_t middle = begin + width < n ? begin + width : n;
            const std::ptrdiff_t end = begin + 2 * width < n ? begin + 2 * width : n;
            std::ptrdiff_t left = begin, right = middle;
            for (std::ptrdiff_t at = begin; at < end; ++at) {
                const bool take_right =
                    left == middle || (right < end && before(loaded(values, right), loaded(values, left)));
                const T value = loaded(values, take_right ? right++ : left++);
                Elements<T*>::store(room, at, &value);
            }
        }
        __builtin_memcpy(static_cast<void*>(values), static_cast<const void*>(room),
            static_cast<size_t>(n) * sizeof(T));
    }
}

/// Read n values, let `work(values, room)` change them and say how many are left, and write those to `out`.
template <class I, class O, class Work>
EMU_UNINSTRUMENTED std::ptrdiff_t rewritten(const Call& call, const I& first, std::ptrdiff_t n, const O& out,
                                            Work work) {
    using Value = ValueOf<I>;
    Scratch<Value> values(n), room(n);
    Value *from = values.get(), *beside = room.get();
    std::ptrdiff_t left = 0;
    std::ptrdiff_t* kept = &left;
    run(call, [=]() mutable EMU_UNINSTRUMENTED {
        reads(call, first, n);
        gather(first, n, from);
        *kept = work(from, beside);
        writes(call, out, *kept);
        spread(from, *kept, out);
    });
    return left;
}

}  // namespace emu

namespace emu::algorithm {

struct stable_sort {
    template <class I, class L = thrust::less<>>
    static void run(Call call, I first, I last, L before = {}) {
        using Value = ValueOf<I>;
        const std::ptrdiff_t n = last - first;
        rewritten(call, first, n, first, [=](Value* values, Value* room) mutable EMU_UNINSTRUMENTED {
            merge_sort(values, room, n, before);
            return n;
        });
    }
};
struct sort : stable_sort {};
struct stable_sort_by_key {
    template <class K, class V, class L = thrust::less<>>
    static void run(Call call, K keys, K last, V values, L before = {}) {
        using Pair = std::tuple<ValueOf<K>, ValueOf<V>>;
        const auto both = thrust::make_zip_iterator(keys, values);
        stable_sort::run(call, both, both + (last - keys), [=](const Pair& a,
            const Pair& b) mutable EMU_UNINSTRUMENTED {
            return before(std::get<0>(a), std::get<0>(b));
        });
    }
};
struct sort_by_key : stable_sort_by_key {};
struct is_sorted {
    template <class I, class L = thrust::less<>>
    static bool run(Call call, I first, I last, L before = {}) {
        using Pair = std::tuple<ValueOf<I>, ValueOf<I>>;
        if (last - first < 2) return true;
        const auto pairs = thrust::make_zip_iterator(first, first + 1);
        return none_of::run(call, pairs, pairs + (last - first - 1), [=](const Pair& pair) mutable EMU_UNINSTRUMENTED {
            return before(std::get<1>(pair), std::get<0>(pair));
        });
    }
};
struct reverse {
    template <class I>
    static void run(Call call, I first, I last) {
        using Value = ValueOf<I>;
        const std::ptrdiff_t n = last - first;
        rewritten(call, first, n, first, [=](Value* values, Value*) mutable EMU_UNINSTRUMENTED {
            for (std::ptrdiff_t i = 0; i < n / 2; ++i) {
                const Value low = loaded(values, i), high = loaded(values, n - 1 - i);
                Elements<Value*>::store(values, i, &high);
                Elements<Value*>::store(values, n - 1 - i, &low);
            }
            return n;
        });
    }
};

/// Keep the values that `chosen(values, i)` names, in their order.
template <class I, class O, class P>
EMU_UNINSTRUMENTED O selected(Call call, I first, I last, O out, P chosen) {
    using Value = ValueOf<I>;
    const std::ptrdiff_t n = last - first;
    return out + rewritten(call, first, n, out, [=](Value* values, Value* room) mutable EMU_UNINSTRUMENTED {
        std::ptrdiff_t left = 0;
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            if (!chosen(values, i)) continue;
            const Value value = loaded(values, i);
            Elements<Value*>::store(room, left++, &value);
        }
        __builtin_memcpy(static_cast<void*>(values), static_cast<const void*>(room),
            static_cast<size_t>(left) * sizeof(Value));
        return left;
    });
}

struct copy_if {
    template <class I, class O, class P>
    static O run(Call call, I first, I last, O out, P holds) {
        using Value = ValueOf<I>;
        return selected(call, first, last, out, [=](Value* values, std::ptrdiff_t i) mutable EMU_UNINSTRUMENTED {
            return holds(loaded(values, i));
        });
    }
    template <class I, class S, class O, class P>
    static O run(Call call, I first, I last, S stencil, O out, P holds) {
        using Pair = std::tuple<ValueOf<I>, ValueOf<S>>;
        const auto both = thrust::make_zip_iterator(first, stencil);
        const auto into = thrust::make_zip_iterator(out, thrust::make_discard_iterator());
        return out + (run(call, both, both + (last - first), into, [=](const Pair& pair) mutable EMU_UNINSTRUMENTED {
            return holds(std::get<1>(pair));
        }) - into);
    }
};
struct remove_copy_if {
    template <class I, class O, class P>
    static O run(Call call, I first, I last, O out, P holds) {
        return copy_if::run(call, first, last, out, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
            return !holds(value);
        });
    }
};
struct remove_if {
    template <class I, class P>
    static I run(Call call, I first, I last, P holds) { return remove_copy_if::run(call, first, last, first, holds); }
};
struct remove {
    template <class I, class T>
    static I run(Call call, I first, I last, T unwanted) {
        return remove_if::run(call, first, last, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {
            return value == unwanted;
        });
    }
};
struct stable_partition {
    template <class I, class P>
    static I run(Call call, I first, I last, P holds) {
        using Value = ValueOf<I>;
        const std::ptrdiff_t n = last - first;
        std::ptrdiff_t middle = 0;
        std::ptrdiff_t* kept = &middle;
        rewritten(call, first, n, first, [=](Value* values, Value* room) mutable EMU_UNINSTRUMENTED {
            std::ptrdiff_t at = 0;
            for (bool side : {true, false}) {
                for (std::ptrdiff_t i = 0; i < n; ++i) {
                    const Value value = loaded(values, i);
                    if (static_cast<bool>(holds(value)) == side) Elements<Value*>::store(room, at++, &value);
                }
                if (side) *kept = at;
            }
            __builtin_memcpy(static_cast<void*>(values), static_cast<const void*>(room),
                static_cast<size_t>(n) * sizeof(Value));
            return n;
        });
        return first + middle;
    }
};
struct partition : stable_partition {};
struct unique_copy {
    template <class I, class O, class E = thrust::equal_to<>>
    static O run(Call call, I first, I last, O out, E same = {}) {
        using Value = ValueOf<I>;
        return selected(call, first, last, out, [=](Value* values, std::ptrdiff_t i) mutable EMU_UNINSTRUMENTED {
            return i == 0 || !same(loaded(values, i - 1), loaded(values, i));
        });
    }
};
struct unique {
    template <class I, class E = thrust::equal_to<>>
    static I run(Call call, I first, I last, E same = {}) { return unique_copy::run(call, first, last, first, same); }
};
struct unique_by_key_copy {
    template <class K, class V, class KO, class VO>
    static thrust::pair<KO, VO> run(Call call, K keys, K last, V values, KO keys_out, VO values_out) {
        using Pair = std::tuple<ValueOf<K>, ValueOf<V>>;
        const auto both = thrust::make_zip_iterator(keys, values);
        const auto out = thrust::make_zip_iterator(keys_out, values_out);
        const auto end = unique_copy::run(call, both, both + (last - keys), out, [](const Pair& a,
            const Pair& b) mutable EMU_UNINSTRUMENTED {
            return std::get<0>(a) == std::get<0>(b);
        });
        return {keys_out + (end - out), values_out + (end - out)};
    }
};
struct unique_by_key {
    template <class K, class V>
    static thrust::pair<K, V> run(Call call, K keys, K last, V values) {
        return unique_by_key_copy::run(call, keys, last, values, keys, values);
    }
};

/// Sums of values, begun anew where `begins(i)`; each with its own value, or with those before it only.
template <class I, class O, class T, class B, class P>
EMU_UNINSTRUMENTED O scanned(Call call, I first, I last, O out, T start, B combine, P begins, bool own, bool started) {
    const std::ptrdiff_t n = last - first;
    emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
        reads(call, first, n);
        writes(call, out, n);
        T sum = start;
        bool any = started;
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const T value = static_cast<T>(loaded(first, i));
            if (begins(i)) {
                sum = start;
                any = started;
            }
            if (!own) stored(out, i, sum);
            sum = any ? static_cast<T>(combine(sum, value)) : value;
            any = true;
            if (own) stored(out, i, sum);
        }
    });
    return out + n;
}

struct inclusive_scan {
    template <class I, class O, class B = thrust::plus<>>
    static O run(Call call, I first, I last, O out, B combine = {}) {
        return scanned(call, first, last, out, ValueOf<I>{}, combine, [](std::ptrdiff_t) mutable EMU_UNINSTRUMENTED {
            return false;
        }, true, false);
    }
};
struct exclusive_scan {
    template <class I, class O, class T = ValueOf<I>, class B = thrust::plus<>>
    static O run(Call call, I first, I last, O out, T start = T{}, B combine = {}) {
        return scanned(call, first, last, out, start, combine, [](std::ptrdiff_t) mutable EMU_UNINSTRUMENTED {
            return false;
        }, false, true);
    }
};
struct inclusive_scan_by_key {
    template <class K, class V, class O, class E = thrust::equal_to<>, class B = thrust::plus<>>
    static O run(Call call, K keys, K last, V values, O out, E same = {}, B combine = {}) {
        return scanned(call, values, values + (last - keys), out, ValueOf<V>{}, combine,
                       [=](std::ptrdiff_t i) mutable EMU_UNINSTRUMENTED {
                           return i > 0 && !same(loaded(keys, i - 1), loaded(keys, i));
                       }, true, false);
    }
};
struct exclusive_scan_by_key {
    template <class K, class V, class O, class T = ValueOf<V>, class E = thrust::equal_to<>, class B = thrust::plus<>>
    static O run(Call call, K keys, K last, V values, O out, T start = T{}, E same = {}, B combine = {}) {
        return scanned(call, values, values + (last - keys), out, start, combine,
                       [=](std::ptrdiff_t i) mutable EMU_UNINSTRUMENTED {
                           return i > 0 && !same(loaded(keys, i - 1), loaded(keys, i));
                       }, false, true);
    }
};
struct reduce_by_key {
    template <class K, class V, class KO, class VO, class E = thrust::equal_to<>, class B = thrust::plus<>>
    static thrust::pair<KO, VO> run(Call call, K keys, K last, V values, KO keys_out, VO values_out,
        E same = {}, B combine = {}) {
        const std::ptrdiff_t n = last - keys;
        std::ptrdiff_t groups = 0;
        std::ptrdiff_t* kept = &groups;
        emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {
            reads(call, keys, n);
            reads(call, values, n);
            for (std::ptrdiff_t i = 0; i < n;) {
                const auto key = loaded(keys, i);
                auto sum = loaded(values, i);
                for (++i; i < n && same(key, loaded(keys, i)); ++i) sum = combine(sum, loaded(values, i));
                writes(call, keys_out + *kept, 1);
                writes(call, values_out + *kept, 1);
                stored(keys_out, *kept, key);
                stored(values_out, *kept, sum);
                ++*kept;
            }
        });
        return {keys_out + groups, values_out + groups};
    }
};
struct adjacent_difference {
    template <class I, class O, class B = thrust::minus<>>
    static O run(Call call, I first, I last, O out, B difference = {}) {
        using Value = ValueOf<I>;
        const std::ptrdiff_t n = last - first;
        return out + rewritten(call, first, n, out, [=](Value* values, Value*) mutable EMU_UNINSTRUMENTED {
            for (std::ptrdiff_t i = n; i-- > 1;) {
                const Value value = static_cast<Value>(difference(loaded(values, i), loaded(values, i - 1)));
                Elements<Value*>::store(values, i, &value);
            }
            return n;
        });
    }
};

/// The first place of a sorted range at which `stop(element)`.
template <class I, class P>
EMU_UNINSTRUMENTED std::ptrdiff_t bisected(const Call& call, const I& first, std::ptrdiff_t n, P stop) {
    std::ptrdiff_t low = 0, high = n;
    while (low < high) {
        const std::ptrdiff_t middle = low + (high - low) / 2;
        reads(call, first + middle, 1);
        if (stop(loaded(first, middle))) high = middle;
        else low = middle + 1;
    }
    return low;
}
#define EMU_BOUND(name, stops)                                                                                        \
    struct name {                                                                                                     \
        template <class I, class T>                                                                                   \
        static I run(Call call, I first, I last, T wanted) {                                                          \
            std::ptrdiff_t place = 0;                                                                                 \
            std::ptrdiff_t* kept = &place;                                                                            \
            emu::run(call, [=]() mutable EMU_UNINSTRUMENTED {                                                          \
                *kept = bisected(call, first, last - first, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {  \
                    return stops; }); \
            });                                                                                                       \
            return first + place;                                                                                     \
        }                                                                                                             \
        template <class I, class W, class O>                                                                          \
        static O run(Call call, I first, I last, W wanted_first, W wanted_last, O out) {                              \
            const std::ptrdiff_t n = last - first;                                                                    \
            return transform::run(call, wanted_first, wanted_last, out,                                                \
                [=](const ValueOf<W>& wanted) mutable EMU_UNINSTRUMENTED { \
                return bisected(call, first, n, [=](const ValueOf<I>& value) mutable EMU_UNINSTRUMENTED {              \
                    return stops; }); \
            });                                                                                                       \
        }                                                                                                             \
    };
EMU_BOUND(lower_bound, !(value < wanted))
EMU_BOUND(upper_bound, wanted < value)
#undef EMU_BOUND
struct binary_search {
    template <class I, class T>
    static bool run(Call call, I first, I last, T wanted) {
        const I found = lower_bound::run(call, first, last, wanted);
        return found != last && !(wanted < static_cast<ValueOf<I>>(*found));
    }
};

}  // namespace emu::algorithm

EMU_ALGORITHM(sort) EMU_ALGORITHM(stable_sort) EMU_ALGORITHM(sort_by_key) EMU_ALGORITHM(stable_sort_by_key)
EMU_ALGORITHM(is_sorted) EMU_ALGORITHM(reverse) EMU_ALGORITHM(copy_if) EMU_ALGORITHM(remove_copy_if)
EMU_ALGORITHM(remove_if) EMU_ALGORITHM(remove) EMU_ALGORITHM(stable_partition) EMU_ALGORITHM(partition)
EMU_ALGORITHM(unique_copy) EMU_ALGORITHM(unique) EMU_ALGORITHM(unique_by_key_copy) EMU_ALGORITHM(unique_by_key)
EMU_ALGORITHM(inclusive_scan) EMU_ALGORITHM(exclusive_scan) EMU_ALGORITHM(inclusive_scan_by_key)
EMU_ALGORITHM(exclusive_scan_by_key) EMU_ALGORITHM(reduce_by_key) EMU_ALGORITHM(adjacent_difference)
EMU_ALGORITHM(lower_bound) EMU_ALGORITHM(upper_bound) EMU_ALGORITHM(binary_search)
