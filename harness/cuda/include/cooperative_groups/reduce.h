// cooperative_groups::reduce over the lanes of a tile or of coalesced threads.
#pragma once

#include "../cooperative_groups.h"
#include "../emu/functional.h"

namespace cooperative_groups {

template <class Group>
inline constexpr bool is_wide_tile = false;
template <unsigned Size, class Parent>
inline constexpr bool is_wide_tile<thread_block_tile<Size, Parent>> = (Size > 32);

/// All values of the group combined, in every thread. Pairs are combined as a tree of shuffles would: rank r with
/// r + size / 2, and so on; of a group whose size is no power of two, in rank order.
template <class Group, class T, class Operation, class = std::enable_if_t<!is_wide_tile<Group>>>
EMU_OUTLINE T reduce(const Group& group, T value, Operation&& operation, emu::Site site = EMU_HERE) {
    const auto all = emu::gathered(group.lanes(), value, "cooperative_groups::reduce", site);
    const unsigned count = static_cast<unsigned>(__popc(group.lanes()));
    T partial[32] = {};
    for (unsigned rank = 0; rank < count; ++rank) {
        partial[rank] = all.from(emu::lane_at(group.lanes(), rank), "cooperative_groups::reduce", site);
    }
    if ((count & (count - 1)) == 0) {
        for (unsigned half = count / 2; half > 0; half /= 2) {
            for (unsigned rank = 0; rank < half; ++rank) {
                partial[rank] = operation(partial[rank], partial[rank + half]);
            }
        }
    } else {
        for (unsigned rank = 1; rank < count; ++rank) partial[0] = operation(partial[0], partial[rank]);
    }
    return partial[0];
}

/// Over a tile of several warps.
template <unsigned Size, class Parent, class T, class Operation, class = std::enable_if_t<(Size > 32)>>
EMU_INLINE T reduce(const thread_block_tile<Size, Parent>& tile, T value, Operation&& operation) {
    return tile.scratch()->reduced(Size, value, operation);
}

}  // namespace cooperative_groups
