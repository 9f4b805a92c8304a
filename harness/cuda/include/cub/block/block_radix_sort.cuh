// cub::BlockRadixSort: the keys of a block in order, equal ones as they were. Seen from outside it is one exchange of
// keys, and one of values.
#pragma once

#include <cstdint>
#include <type_traits>

#include "block_exchange.cuh"

namespace cub {

// What follows the value type are details of NVIDIA's algorithm.
template <class Key, int X, int Items, class Value = NullType, int = 4, bool = true, int = 0, int = 0, int Y = 1,
          int Z = 1, int = 0>
class BlockRadixSort {
    static constexpr unsigned kThreads = X * Y * Z, kAll = kThreads * Items;
    static_assert(std::is_arithmetic_v<Key>, "cub::BlockRadixSort is for numbers that C++ has on this device");
    using Places = BlockExchange<Key, X, Items, false, Y, Z>;
    using Site = emu::Site;

public:
    struct TempStorage {
        union {
            emu::Room<Key, kAll> keys;
            emu::Room<Value, kAll> values;
        };
        uint16_t order[kAll];
    };
    static_assert(kAll <= 65536, "cub::BlockRadixSort of more keys than a block has");
    static constexpr int kBits = sizeof(Key) * 8;

    EMU_INLINE BlockRadixSort() : room_(emu::own_storage<TempStorage>("cub::BlockRadixSort")) {}
    EMU_INLINE BlockRadixSort(TempStorage& room) : room_(room) {}

    EMU_INLINE void Sort(Key (&keys)[Items], int begin = 0, int end = kBits, Site site = EMU_HERE) {
        sort<false, false>(keys, nullptr, begin, end, site);
    }
    EMU_INLINE void Sort(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = kBits,
                         Site site = EMU_HERE) {
        sort<false, false>(keys, values, begin, end, site);
    }
    EMU_INLINE void SortDescending(Key (&keys)[Items], int begin = 0, int end = kBits, Site site = EMU_HERE) {
        sort<true, false>(keys, nullptr, begin, end, site);
    }
    EMU_INLINE void SortDescending(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = kBits,
                                   Site site = EMU_HERE) {
        sort<true, false>(keys, values, begin, end, site);
    }
    EMU_INLINE void SortBlockedToStriped(Key (&keys)[Items], int begin = 0, int end = kBits, Site site = EMU_HERE) {
        sort<false, true>(keys, nullptr, begin, end, site);
    }
    EMU_INLINE void SortBlockedToStriped(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = kBits,
                                         Site site = EMU_HERE) {
        sort<false, true>(keys, values, begin, end, site);
    }
    EMU_INLINE void SortDescendingBlockedToStriped(Key (&keys)[Items], int begin = 0, int end = kBits,
                                                   Site site = EMU_HERE) {
        sort<true, true>(keys, nullptr, begin, end, site);
    }
    EMU_INLINE void SortDescendingBlockedToStriped(Key (&keys)[Items], Value (&values)[Items], int begin = 0,
                                                   int end = kBits, Site site = EMU_HERE) {
        sort<true, true>(keys, values, begin, end, site);
    }

private:
    template <bool Descending, bool Striped>
    EMU_INLINE void sort(Key* keys, Value* values, int begin, int end, Site site) {
        emu::expect_block(kThreads, kThreads, "cub::BlockRadixSort in a block of another size than it is for", site);
        for (unsigned i = 0; i < Items; ++i) room_.keys[Places::blocked(i)] = keys[i];
        emu::barrier(-2, emu::Vote::None, 0, site);
        if (emu::linear_thread() == 0) find_order<Descending>(room_, begin, end);
        emu::barrier(-3, emu::Vote::None, 0, site);
        for (unsigned i = 0; i < Items; ++i) keys[i] = room_.keys[came_from<Striped>(i)];
        if (!values) return;
        emu::barrier(-4, emu::Vote::None, 0, site);
        for (unsigned i = 0; i < Items; ++i) room_.values[Places::blocked(i)] = values[i];
        emu::barrier(-5, emu::Vote::None, 0, site);
        for (unsigned i = 0; i < Items; ++i) values[i] = room_.values[came_from<Striped>(i)];
    }

    template <bool Striped>
    EMU_OUTLINE unsigned came_from(unsigned i) const {
        return room_.order[Striped ? Places::striped(i) : Places::blocked(i)];
    }

    // The bits begin..end-1 of a number whose order is that of the keys.
    static EMU_UNINSTRUMENTED uint64_t digits(const unsigned char* key, int begin, int end) {
        constexpr uint64_t sign = uint64_t{1} << (kBits - 1);
        uint64_t bits = 0;
        for (unsigned i = 0; i < sizeof(Key); ++i) bits |= uint64_t{key[i]} << 8 * i;
        if constexpr (std::is_floating_point_v<Key>) {
            if (bits == sign) bits = 0;  // minus zero is zero
            bits = bits & sign ? ~bits : bits | sign;
        } else if constexpr (std::is_signed_v<Key>) {
            bits ^= sign;
        }
        const int width = end - begin;
        return bits >> begin & (width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
    }

    // By shrinking gaps; no two places are equal, as that of an equal key comes first.
    template <bool Descending>
    static EMU_OUTLINE void find_order(TempStorage& room, int begin, int end) {
        const auto before = [&](unsigned a, unsigned b) EMU_UNINSTRUMENTED {
            const uint64_t x = digits(room.keys.bytes + a * sizeof(Key), begin, end);
            const uint64_t y = digits(room.keys.bytes + b * sizeof(Key), begin, end);
            return x == y ? a < b : (x < y) != Descending;
        };
        for (unsigned i = 0; i < kAll; ++i) room.order[i] = static_cast<uint16_t>(i);
        for (unsigned gap = kAll; gap > 1;) {
            gap = gap < 4 ? 1 : gap * 5 / 11;
            for (unsigned i = gap; i < kAll; ++i) {
                const uint16_t one = room.order[i];
                unsigned at = i;
                for (; at >= gap && before(one, room.order[at - gap]); at -= gap) room.order[at] = room.order[at - gap];
                room.order[at] = one;
            }
        }
    }

    TempStorage& room_;
};

}  // namespace cub
