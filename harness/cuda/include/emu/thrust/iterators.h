// Iterators that compute what they show.
#pragma once

#include <tuple>
#include <utility>

#include "pointers.h"

namespace emu {

/// Arithmetic of an iterator that has `shift(n)`, `at() const` and `from(other) const`.
template <class Derived, class Value, class Reference = Value>
struct RandomAccess {
    using value_type = Value;
    using reference = Reference;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using iterator_category = std::random_access_iterator_tag;

    Reference operator*() const { return self().at(); }
    Reference operator[](difference_type i) const { return *(self() + i); }
    Derived operator+(difference_type by) const { Derived moved = self(); moved.shift(by); return moved; }
    Derived operator-(difference_type by) const { return self() + -by; }
    difference_type operator-(const Derived& other) const { return self().from(other); }
    Derived& operator+=(difference_type by) { self().shift(by); return self(); }
    Derived& operator++() { return *this += 1; }
    Derived& operator--() { return *this += -1; }
    Derived operator++(int) { Derived before = self(); ++*this; return before; }
    bool operator==(const Derived& other) const { return self().from(other) == 0; }
    bool operator!=(const Derived& other) const { return self().from(other) != 0; }
    bool operator<(const Derived& other) const { return self().from(other) < 0; }

private:
    const Derived& self() const { return static_cast<const Derived&>(*this); }
    Derived& self() { return static_cast<Derived&>(*this); }
};

template <class I>
using ValueOf = typename std::iterator_traits<I>::value_type;

}  // namespace emu

namespace thrust {

template <class T>
struct counting_iterator : emu::RandomAccess<counting_iterator<T>, T> {
    T value{};
    counting_iterator() = default;
    explicit counting_iterator(T first) : value(first) {}
    void shift(std::ptrdiff_t by) { value = static_cast<T>(value + by); }
    T at() const { return value; }
    std::ptrdiff_t from(const counting_iterator& other) const {
        return static_cast<std::ptrdiff_t>(value - other.value); }
};
template <class T>
counting_iterator<T> make_counting_iterator(T first) { return counting_iterator<T>(first); }

template <class T>
struct constant_iterator : emu::RandomAccess<constant_iterator<T>, T> {
    T value{};
    std::ptrdiff_t place = 0;
    constant_iterator() = default;
    explicit constant_iterator(T same, std::ptrdiff_t at = 0) : value(same), place(at) {}
    void shift(std::ptrdiff_t by) { place += by; }
    T at() const { return value; }
    std::ptrdiff_t from(const constant_iterator& other) const { return place - other.place; }
};
template <class T>
constant_iterator<T> make_constant_iterator(T same) { return constant_iterator<T>(same); }

struct discard_iterator : emu::RandomAccess<discard_iterator, int> {
    std::ptrdiff_t place = 0;
    discard_iterator() = default;
    explicit discard_iterator(std::ptrdiff_t at) : place(at) {}
    void shift(std::ptrdiff_t by) { place += by; }
    int at() const { return 0; }
    std::ptrdiff_t from(const discard_iterator& other) const { return place - other.place; }
};
inline discard_iterator make_discard_iterator() { return discard_iterator(); }

template <class F, class I>
struct transform_iterator
    : emu::RandomAccess<transform_iterator<F, I>, std::decay_t<std::invoke_result_t<const F&, emu::ValueOf<I>>>> {
    I base;
    mutable F function;  // its call may be no constant one
    transform_iterator(I first, F applied) : base(first), function(applied) {}
    void shift(std::ptrdiff_t by) { base += by; }
    auto at() const { return function(static_cast<emu::ValueOf<I>>(*base)); }
    std::ptrdiff_t from(const transform_iterator& other) const { return base - other.base; }
};
template <class I, class F>
transform_iterator<F, I> make_transform_iterator(I first, F applied) { return {first, applied}; }

/// The elements of `base` at the places that `places` names.
template <class E, class I>
struct permutation_iterator : emu::RandomAccess<permutation_iterator<E, I>, emu::ValueOf<E>,
    typename std::iterator_traits<E>::reference> {
    E base;
    I places;
    permutation_iterator(E elements, I first) : base(elements), places(first) {}
    void shift(std::ptrdiff_t by) { places += by; }
    typename std::iterator_traits<E>::reference at() const { return base[static_cast<std::ptrdiff_t>(*places)]; }
    std::ptrdiff_t from(const permutation_iterator& other) const { return places - other.places; }
};
template <class E, class I>
permutation_iterator<E, I> make_permutation_iterator(E elements, I first) { return {elements, first}; }

template <class Tuple>
struct zip_iterator;
template <class... I>
struct zip_iterator<std::tuple<I...>>
    : emu::RandomAccess<zip_iterator<std::tuple<I...>>, std::tuple<emu::ValueOf<I>...>,
                        std::tuple<typename std::iterator_traits<I>::reference...>> {
    std::tuple<I...> parts;
    zip_iterator(std::tuple<I...> iterators) : parts(iterators) {}
    void shift(std::ptrdiff_t by) {
        std::apply([by](I&... each) { ((each += by), ...); }, parts);
    }
    std::tuple<typename std::iterator_traits<I>::reference...> at() const {
        return std::apply([](const I&... each) {
            return std::tuple<typename std::iterator_traits<I>::reference...>(*each...); },
                          parts);
    }
    std::ptrdiff_t from(const zip_iterator& other) const { return std::get<0>(parts) - std::get<0>(other.parts); }
    const std::tuple<I...>& get_iterator_tuple() const { return parts; }
};
template <class... I>
zip_iterator<std::tuple<I...>> make_zip_iterator(std::tuple<I...> iterators) { return {iterators}; }
template <class... I>
zip_iterator<std::tuple<I...>> make_zip_iterator(I... iterators) { return {std::tuple<I...>(iterators...)}; }

}  // namespace thrust

namespace emu {

/// How an algorithm reaches the elements of an iterator: values are moved as bytes, between the element and the
/// thread's own stack, so that nothing but what the author wrote is watched; `touch` tells of the elements instead.
template <class I>
struct Elements {
    using Value = ValueOf<I>;
    static constexpr bool device = false, host = true;
    EMU_UNINSTRUMENTED static decltype(auto) at(const I& first, std::ptrdiff_t i) { return first[i]; }
    EMU_UNINSTRUMENTED static void load(const I& first, std::ptrdiff_t i, Value* into) { *into = first[i]; }
    EMU_UNINSTRUMENTED static void store(const I& first, std::ptrdiff_t i, const Value* from) { first[i] = *from; }
    static void touch(const I&, std::ptrdiff_t, bool, const void*) {}
};
template <class T>
struct Elements<T*> {
    using Value = std::remove_cv_t<T>;
    static constexpr bool device = false, host = true;
    static T& at(T* first, std::ptrdiff_t i) { return first[i]; }
    EMU_UNINSTRUMENTED static void load(T* first, std::ptrdiff_t i, Value* into) {
        __builtin_memcpy(static_cast<void*>(into), static_cast<const void*>(first + i), sizeof(T));
    }
    EMU_UNINSTRUMENTED static void store(T* first, std::ptrdiff_t i, const Value* from) {
        __builtin_memcpy(static_cast<void*>(first + i), static_cast<const void*>(from), sizeof(T));
    }
    EMU_UNINSTRUMENTED static void touch(T* first, std::ptrdiff_t i, bool write, const void* pc) {
        // what the hardware reads at once is a power of two of bytes
        auto* bytes = reinterpret_cast<const unsigned char*>(first + i);
        const unsigned unit = sizeof(T) % 8 == 0 ? 8 : sizeof(T) % 4 == 0 ? 4 : sizeof(T) % 2 == 0 ? 2 : 1;
        for (size_t at = 0; at < sizeof(T); at += unit) access(bytes + at, unit, write, pc);
    }
};
template <class T>
struct Elements<thrust::device_ptr<T>> {
    using Value = std::remove_cv_t<T>;
    using Raw = Elements<T*>;
    static constexpr bool device = true, host = false;
    static T& at(const thrust::device_ptr<T>& p, std::ptrdiff_t i) { return p.get()[i]; }
    static void load(const thrust::device_ptr<T>& p, std::ptrdiff_t i, Value* into) { Raw::load(p.get(), i, into); }
    static void store(const thrust::device_ptr<T>& p, std::ptrdiff_t i, const Value* from) {
        Raw::store(p.get(), i, from); }
    static void touch(const thrust::device_ptr<T>& p, std::ptrdiff_t i, bool write, const void* pc) {
        Raw::touch(p.get(), i, write, pc);
    }
};
/// Of iterators that lie nowhere.
template <class I>
struct NoElements {
    using Value = ValueOf<I>;
    static constexpr bool device = false, host = false;
    static Value at(const I& first, std::ptrdiff_t i) { return first[i]; }
    static void load(const I& first, std::ptrdiff_t i, Value* into) { *into = first[i]; }
    static void touch(const I&, std::ptrdiff_t, bool, const void*) {}
};
template <class T>
struct Elements<thrust::counting_iterator<T>> : NoElements<thrust::counting_iterator<T>> {};
template <class T>
struct Elements<thrust::constant_iterator<T>> : NoElements<thrust::constant_iterator<T>> {};
template <class F, class I>
struct Elements<thrust::transform_iterator<F, I>> {
    using Iterator = thrust::transform_iterator<F, I>;
    using Value = ValueOf<Iterator>;
    static constexpr bool device = Elements<I>::device, host = Elements<I>::host;
    static Value at(const Iterator& first, std::ptrdiff_t i) {
        Value value{};
        load(first, i, &value);
        return value;
    }
    EMU_UNINSTRUMENTED static void load(const Iterator& first, std::ptrdiff_t i, Value* into) {
        ValueOf<I> argument{};
        Elements<I>::load(first.base, i, &argument);
        const Value result = first.function(argument);
        __builtin_memcpy(static_cast<void*>(into), static_cast<const void*>(&result), sizeof(Value));
    }
    static void touch(const Iterator& first, std::ptrdiff_t i, bool write, const void* pc) {
        Elements<I>::touch(first.base, i, write, pc);
    }
};
template <class E, class I>
struct Elements<thrust::permutation_iterator<E, I>> {
    using Iterator = thrust::permutation_iterator<E, I>;
    using Value = ValueOf<E>;
    static constexpr bool device = Elements<E>::device || Elements<I>::device;
    static constexpr bool host = !device && (Elements<E>::host || Elements<I>::host);
    static std::ptrdiff_t place(const Iterator& first, std::ptrdiff_t i) {
        ValueOf<I> found{};
        Elements<I>::load(first.places, i, &found);
        return static_cast<std::ptrdiff_t>(found);
    }
    static decltype(auto) at(const Iterator& first, std::ptrdiff_t i) {
        return Elements<E>::at(first.base, place(first, i));
    }
    static void load(const Iterator& first, std::ptrdiff_t i, Value* into) {
        Elements<E>::load(first.base, place(first, i), into);
    }
    static void store(const Iterator& first, std::ptrdiff_t i, const Value* from) {
        Elements<E>::store(first.base, place(first, i), from);
    }
    static void touch(const Iterator& first, std::ptrdiff_t i, bool write, const void* pc) {
        Elements<I>::touch(first.places, i, false, pc);
        Elements<E>::touch(first.base, place(first, i), write, pc);
    }
};
template <>
struct Elements<thrust::discard_iterator> {
    using Value = int;
    static constexpr bool device = false, host = false;
    template <class T>
    static void store(const thrust::discard_iterator&, std::ptrdiff_t, const T*) {}
    static void touch(const thrust::discard_iterator&, std::ptrdiff_t, bool, const void*) {}
};
template <class... I>
struct Elements<thrust::zip_iterator<std::tuple<I...>>> {
    using Iterator = thrust::zip_iterator<std::tuple<I...>>;
    using Value = std::tuple<ValueOf<I>...>;
    using Numbers = std::index_sequence_for<I...>;
    static constexpr bool device = (Elements<I>::device || ...), host = !device && (Elements<I>::host || ...);
    template <size_t... N>
    static auto each_at(const Iterator& first, std::ptrdiff_t i, std::index_sequence<N...>) {
        return std::tuple<decltype(Elements<I>::at(std::get<N>(first.parts), i))...>(
            Elements<I>::at(std::get<N>(first.parts), i)...);
    }
    static auto at(const Iterator& first, std::ptrdiff_t i) { return each_at(first, i, Numbers()); }
    template <size_t... N>
    static void each_load(const Iterator& first, std::ptrdiff_t i, Value* into, std::index_sequence<N...>) {
        (Elements<I>::load(std::get<N>(first.parts), i, &std::get<N>(*into)), ...);
    }
    template <size_t... N>
    static void each_store(const Iterator& first, std::ptrdiff_t i, const Value* from, std::index_sequence<N...>) {
        (Elements<I>::store(std::get<N>(first.parts), i, &std::get<N>(*from)), ...);
    }
    static void load(const Iterator& first, std::ptrdiff_t i, Value* into) { each_load(first, i, into, Numbers()); }
    static void store(const Iterator& first, std::ptrdiff_t i, const Value* from) { each_store(first, i, from,
        Numbers()); }
    static void touch(const Iterator& first, std::ptrdiff_t i, bool write, const void* pc) {
        std::apply([=](const I&... part) { (Elements<I>::touch(part, i, write, pc), ...); }, first.parts);
    }
};

template <class I>
struct IsZip : std::false_type {};
template <class T>
struct IsZip<thrust::zip_iterator<T>> : std::true_type {};

}  // namespace emu
