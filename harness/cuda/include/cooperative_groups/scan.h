// cooperative_groups::inclusive_scan and exclusive_scan over the lanes of a tile or of coalesced threads.
#pragma once

#include "../cooperative_groups.h"
#include "../emu/functional.h"

namespace cooperative_groups {

/// The values of the ranks up to the caller's own, combined in rank order.
template <class Group, class T, class Operation = plus<T>>
EMU_OUTLINE T inclusive_scan(const Group& group, T value, Operation&& operation = Operation(),
                             emu::Site site = EMU_HERE) {
    const char* what = "cooperative_groups::inclusive_scan";
    const auto all = emu::gathered(group.lanes(), value, what, site);
    T sum = all.from(emu::lane_at(group.lanes(), 0), what, site);
    for (unsigned rank = 1; rank <= group.thread_rank(); ++rank) {
        sum = operation(sum, all.from(emu::lane_at(group.lanes(), rank), what, site));
    }
    return sum;
}

/// The values of the ranks below the caller's own, combined in rank order; T() for the first.
template <class Group, class T, class Operation = plus<T>>
EMU_OUTLINE T exclusive_scan(const Group& group, T value, Operation&& operation = Operation(),
                             emu::Site site = EMU_HERE) {
    const char* what = "cooperative_groups::exclusive_scan";
    const auto all = emu::gathered(group.lanes(), value, what, site);
    if (group.thread_rank() == 0) return T();
    T sum = all.from(emu::lane_at(group.lanes(), 0), what, site);
    for (unsigned rank = 1; rank < group.thread_rank(); ++rank) {
        sum = operation(sum, all.from(emu::lane_at(group.lanes(), rank), what, site));
    }
    return sum;
}

}  // namespace cooperative_groups
