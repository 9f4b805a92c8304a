// cub::WarpReduce: the result is that of the first lane of each group of threads; the others have none.
#pragma once

#include "../../emu/collectives.h"
#include "../thread/thread_operators.cuh"

namespace cub {

template <class T, int Threads = 32, int = 0>
class WarpReduce {
    using Site = emu::Site;

public:
    struct TempStorage {};

    EMU_INLINE WarpReduce(TempStorage&) {}

    template <class Operation>
    EMU_INLINE T Reduce(T input, Operation operation, Site site = EMU_HERE) {
        return Reduce(input, operation, Threads, site);
    }
    template <class Operation>
    EMU_INLINE T Reduce(T input, Operation operation, int valid, Site site = EMU_HERE) {
        const unsigned count = valid < 0 ? 0 : valid < Threads ? valid : Threads;
        const T sum = emu::reduced(emu::lanes_of_group(Threads), count, input, operation, "cub::WarpReduce", site);
        return emu::lane() % Threads ? emu::undefined(input) : sum;
    }
    EMU_INLINE T Sum(T input, Site site = EMU_HERE) { return Reduce(input, cub::Sum(), site); }
    EMU_INLINE T Sum(T input, int valid, Site site = EMU_HERE) { return Reduce(input, cub::Sum(), valid, site); }

    // of each segment, for the first lane of it: a flag says that one begins, or ends, at a lane
    template <class Flag, class Operation>
    EMU_INLINE T HeadSegmentedReduce(T input, Flag head, Operation operation, Site site = EMU_HERE) {
        return to_the_end(input, ballot(!!head, site) >> 1, operation, site);
    }
    template <class Flag, class Operation>
    EMU_INLINE T TailSegmentedReduce(T input, Flag tail, Operation operation, Site site = EMU_HERE) {
        return to_the_end(input, ballot(!!tail, site), operation, site);
    }
    template <class Flag>
    EMU_INLINE T HeadSegmentedSum(T input, Flag head, Site site = EMU_HERE) {
        return HeadSegmentedReduce(input, head, cub::Sum(), site);
    }
    template <class Flag>
    EMU_INLINE T TailSegmentedSum(T input, Flag tail, Site site = EMU_HERE) {
        return TailSegmentedReduce(input, tail, cub::Sum(), site);
    }

private:
    static EMU_OUTLINE uint32_t ballot(bool flag, Site site) {
        return __ballot_sync(emu::lanes_of_group(Threads), flag, site);
    }

    // From the caller's lane to the first one at or after it that ends a segment.
    template <class Operation>
    static EMU_OUTLINE T to_the_end(const T& input, uint32_t ends, Operation& operation, Site site) {
        const uint32_t lanes = emu::lanes_of_group(Threads);
        const auto all = emu::gathered(lanes, input, "cub::WarpReduce", site);
        T sum = input;
        for (unsigned lane = emu::lane(); lane < 31 && !(ends >> lane & 1u) && (lanes >> lane >> 1 & 1u);) {
            sum = operation(sum, all.from(++lane, "cub::WarpReduce", site));
        }
        return sum;
    }
};

}  // namespace cub
