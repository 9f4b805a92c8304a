// cub::WarpScan: every lane of a group gets what comes before its value, or up to it.
#pragma once

#include "../../emu/collectives.h"
#include "../thread/thread_operators.cuh"

namespace cub {

template <class T, int Threads = 32, int = 0>
class WarpScan {
    using Site = emu::Site;

public:
    struct TempStorage {};

    EMU_INLINE WarpScan(TempStorage&) {}

    EMU_INLINE void InclusiveSum(T in, T& out, Site site = EMU_HERE) { InclusiveScan(in, out, cub::Sum(), site); }
    EMU_INLINE void InclusiveSum(T in, T& out, T& total, Site site = EMU_HERE) {
        InclusiveScan(in, out, cub::Sum(), total, site);
    }
    EMU_INLINE void ExclusiveSum(T in, T& out, Site site = EMU_HERE) { ExclusiveScan(in, out, T(), cub::Sum(), site); }
    EMU_INLINE void ExclusiveSum(T in, T& out, T& total, Site site = EMU_HERE) {
        ExclusiveScan(in, out, T(), cub::Sum(), total, site);
    }
    template <class Operation>
    EMU_INLINE void InclusiveScan(T in, T& out, Operation operation, Site site = EMU_HERE) {
        out = scanned(in, operation, site).up_to;
    }
    template <class Operation>
    EMU_INLINE void InclusiveScan(T in, T& out, Operation operation, T& total, Site site = EMU_HERE) {
        out = scanned(in, operation, site).up_to;
        total = Broadcast(out, Threads - 1, site);
    }
    template <class Operation>
    EMU_INLINE void ExclusiveScan(T in, T& out, Operation operation, Site site = EMU_HERE) {
        const auto mine = scanned(in, operation, site);
        out = mine.any ? mine.before : emu::undefined(in);
    }
    template <class Operation>
    EMU_INLINE void ExclusiveScan(T in, T& out, Operation operation, T& total, Site site = EMU_HERE) {
        const auto mine = scanned(in, operation, site);
        out = mine.any ? mine.before : emu::undefined(in);
        total = Broadcast(mine.up_to, Threads - 1, site);
    }
    template <class Operation>
    EMU_INLINE void ExclusiveScan(T in, T& out, T initial, Operation operation, Site site = EMU_HERE) {
        const auto mine = scanned(in, operation, site);
        out = mine.any ? static_cast<T>(operation(initial, mine.before)) : initial;
    }
    template <class Operation>
    EMU_INLINE void ExclusiveScan(T in, T& out, T initial, Operation operation, T& total, Site site = EMU_HERE) {
        const auto mine = scanned(in, operation, site);
        out = mine.any ? static_cast<T>(operation(initial, mine.before)) : initial;
        total = Broadcast(mine.up_to, Threads - 1, site);
    }
    template <class Operation>
    EMU_INLINE void Scan(T in, T& inclusive, T& exclusive, Operation operation, Site site = EMU_HERE) {
        const auto mine = scanned(in, operation, site);
        inclusive = mine.up_to;
        exclusive = mine.any ? mine.before : emu::undefined(in);
    }
    EMU_INLINE T Broadcast(T in, unsigned source, Site site = EMU_HERE) {
        return emu::value_of(source, emu::lanes_of_group(Threads), in, "cub::WarpScan::Broadcast", site);
    }

private:
    template <class Operation>
    EMU_INLINE emu::Scanned<T> scanned(const T& in, Operation& operation, Site site) {
        return emu::scanned(emu::lanes_of_group(Threads), in, operation, "cub::WarpScan", site);
    }
};

}  // namespace cub
