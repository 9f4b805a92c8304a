// cub::BlockScan: every thread gets what comes before its values, or up to them.
#pragma once

#include "../../emu/collectives.h"
#include "../thread/thread_operators.cuh"

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int X, BlockScanAlgorithm Algorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
    static constexpr unsigned kThreads = X * Y * Z, kWarps = (kThreads + 31) / 32;
    // NVIDIA's meets at no barrier then, and needs no storage
    static constexpr bool kInOneWarp = kWarps == 1 && Algorithm != BLOCK_SCAN_WARP_SCANS;
    using Site = emu::Site;

public:
    struct TempStorage {
        emu::Room<T, kWarps> partial;  // of every warp
        emu::Room<T, 1> prefix;        // of the block
    };

    EMU_INLINE BlockScan() : room_(emu::own_storage<TempStorage>("cub::BlockScan")) {}
    EMU_INLINE BlockScan(TempStorage& room) : room_(room) {}

    // one value a thread
    EMU_INLINE void ExclusiveSum(T in, T& out, Site site = EMU_HERE) {
        run<false>(&in, &out, 1, cub::Sum(), Initial{T()}, nullptr, site);
    }
    EMU_INLINE void ExclusiveSum(T in, T& out, T& total, Site site = EMU_HERE) {
        run<false>(&in, &out, 1, cub::Sum(), Initial{T()}, &total, site);
    }
    template <class Callback>
    EMU_INLINE void ExclusiveSum(T in, T& out, Callback& prefix, Site site = EMU_HERE) {
        run<false>(&in, &out, 1, cub::Sum(), Asked<Callback>{prefix}, nullptr, site);
    }
    EMU_INLINE void InclusiveSum(T in, T& out, Site site = EMU_HERE) {
        run<true>(&in, &out, 1, cub::Sum(), Nothing{}, nullptr, site);
    }
    EMU_INLINE void InclusiveSum(T in, T& out, T& total, Site site = EMU_HERE) {
        run<true>(&in, &out, 1, cub::Sum(), Nothing{}, &total, site);
    }
    template <class Callback>
    EMU_INLINE void InclusiveSum(T in, T& out, Callback& prefix, Site site = EMU_HERE) {
        run<true>(&in, &out, 1, cub::Sum(), Asked<Callback>{prefix}, nullptr, site);
    }
    template <class Operation>
    EMU_INLINE void ExclusiveScan(T in, T& out, Operation operation, Site site = EMU_HERE) {
        run<false>(&in, &out, 1, operation, Nothing{}, nullptr, site);
    }
    template <class Operation>
    EMU_INLINE void ExclusiveScan(T in, T& out, Operation operation, T& total, Site site = EMU_HERE) {
        run<false>(&in, &out, 1, operation, Nothing{}, &total, site);
    }
    template <class Operation, class Callback>
    EMU_INLINE void ExclusiveScan(T in, T& out, Operation operation, Callback& prefix, Site site = EMU_HERE) {
        run<false>(&in, &out, 1, operation, Asked<Callback>{prefix}, nullptr, site);
    }
    template <class Operation>
    EMU_INLINE void ExclusiveScan(T in, T& out, T initial, Operation operation, Site site = EMU_HERE) {
        run<false>(&in, &out, 1, operation, Initial{initial}, nullptr, site);
    }
    template <class Operation>
    EMU_INLINE void ExclusiveScan(T in, T& out, T initial, Operation operation, T& total, Site site = EMU_HERE) {
        run<false>(&in, &out, 1, operation, Initial{initial}, &total, site);
    }
    template <class Operation>
    EMU_INLINE void InclusiveScan(T in, T& out, Operation operation, Site site = EMU_HERE) {
        run<true>(&in, &out, 1, operation, Nothing{}, nullptr, site);
    }
    template <class Operation>
    EMU_INLINE void InclusiveScan(T in, T& out, Operation operation, T& total, Site site = EMU_HERE) {
        run<true>(&in, &out, 1, operation, Nothing{}, &total, site);
    }
    template <class Operation, class Callback>
    EMU_INLINE void InclusiveScan(T in, T& out, Operation operation, Callback& prefix, Site site = EMU_HERE) {
        run<true>(&in, &out, 1, operation, Asked<Callback>{prefix}, nullptr, site);
    }

    // several consecutive values a thread
    template <int N>
    EMU_INLINE void ExclusiveSum(T (&in)[N], T (&out)[N], Site site = EMU_HERE) {
        run<false>(in, out, N, cub::Sum(), Initial{T()}, nullptr, site);
    }
    template <int N>
    EMU_INLINE void ExclusiveSum(T (&in)[N], T (&out)[N], T& total, Site site = EMU_HERE) {
        run<false>(in, out, N, cub::Sum(), Initial{T()}, &total, site);
    }
    template <int N, class Callback>
    EMU_INLINE void ExclusiveSum(T (&in)[N], T (&out)[N], Callback& prefix, Site site = EMU_HERE) {
        run<false>(in, out, N, cub::Sum(), Asked<Callback>{prefix}, nullptr, site);
    }
    template <int N>
    EMU_INLINE void InclusiveSum(T (&in)[N], T (&out)[N], Site site = EMU_HERE) {
        run<true>(in, out, N, cub::Sum(), Nothing{}, nullptr, site);
    }
    template <int N>
    EMU_INLINE void InclusiveSum(T (&in)[N], T (&out)[N], T& total, Site site = EMU_HERE) {
        run<true>(in, out, N, cub::Sum(), Nothing{}, &total, site);
    }
    template <int N, class Callback>
    EMU_INLINE void InclusiveSum(T (&in)[N], T (&out)[N], Callback& prefix, Site site = EMU_HERE) {
        run<true>(in, out, N, cub::Sum(), Asked<Callback>{prefix}, nullptr, site);
    }
    template <int N, class Operation>
    EMU_INLINE void ExclusiveScan(T (&in)[N], T (&out)[N], Operation operation, Site site = EMU_HERE) {
        run<false>(in, out, N, operation, Nothing{}, nullptr, site);
    }
    template <int N, class Operation>
    EMU_INLINE void ExclusiveScan(T (&in)[N], T (&out)[N], Operation operation, T& total, Site site = EMU_HERE) {
        run<false>(in, out, N, operation, Nothing{}, &total, site);
    }
    template <int N, class Operation, class Callback>
    EMU_INLINE void ExclusiveScan(T (&in)[N], T (&out)[N], Operation operation, Callback& prefix,
                                  Site site = EMU_HERE) {
        run<false>(in, out, N, operation, Asked<Callback>{prefix}, nullptr, site);
    }
    template <int N, class Operation>
    EMU_INLINE void ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Operation operation, Site site = EMU_HERE) {
        run<false>(in, out, N, operation, Initial{initial}, nullptr, site);
    }
    template <int N, class Operation>
    EMU_INLINE void ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Operation operation, T& total,
                                  Site site = EMU_HERE) {
        run<false>(in, out, N, operation, Initial{initial}, &total, site);
    }
    template <int N, class Operation>
    EMU_INLINE void InclusiveScan(T (&in)[N], T (&out)[N], Operation operation, Site site = EMU_HERE) {
        run<true>(in, out, N, operation, Nothing{}, nullptr, site);
    }
    template <int N, class Operation>
    EMU_INLINE void InclusiveScan(T (&in)[N], T (&out)[N], Operation operation, T& total, Site site = EMU_HERE) {
        run<true>(in, out, N, operation, Nothing{}, &total, site);
    }
    template <int N, class Operation, class Callback>
    EMU_INLINE void InclusiveScan(T (&in)[N], T (&out)[N], Operation operation, Callback& prefix,
                                  Site site = EMU_HERE) {
        run<true>(in, out, N, operation, Asked<Callback>{prefix}, nullptr, site);
    }

private:
    // What comes before the block's first value: nothing, a value, or what the first warp asks a callback for.
    struct Nothing {};
    struct Initial {
        T value;
    };
    template <class Callback>
    struct Asked {
        Callback& callback;
    };

    template <bool Inclusive, class Operation, class Before>
    EMU_INLINE void run(const T* in, T* out, int count, Operation operation, Before before, T* total, Site site) {
        T sum = in[0];
        for (int i = 1; i < count; ++i) sum = operation(sum, in[i]);
        T all = sum;
        emu::Scanned<T> mine = of_block(sum, operation, all, site);
        if (total) *total = all;
        add(mine, operation, all, before, site);
        for (int i = 0; i < count; ++i) {
            const T up_to = mine.any ? static_cast<T>(operation(mine.before, in[i])) : in[i];
            if constexpr (Inclusive) out[i] = up_to;
            else out[i] = mine.any ? mine.before : emu::undefined(in[i]);
            mine.before = up_to;
            mine.any = true;
        }
    }

    template <class Operation>
    EMU_INLINE emu::Scanned<T> of_block(const T& sum, Operation& operation, T& all, Site site) {
        emu::expect_block(kThreads, kThreads, "cub::BlockScan in a block of another size than it is for", site);
        const unsigned thread = emu::linear_thread(), own = thread / 32;
        const uint32_t lanes = emu::lanes_among(kThreads);
        emu::Scanned<T> mine = emu::scanned(lanes, sum, operation, "cub::BlockScan", site);
        if constexpr (kInOneWarp) {
            all = emu::value_of(kThreads - 1, lanes, mine.up_to, "cub::BlockScan", site);
            return mine;
        }
        if (!(lanes >> (thread & 31u) >> 1)) room_.partial[own] = mine.up_to;
        emu::barrier(-2, emu::Vote::None, 0, site);
        all = room_.partial[0];
        for (unsigned warp = 1; warp < kWarps; ++warp) {
            if (warp == own) {
                mine.before = mine.any ? static_cast<T>(operation(all, mine.before)) : all;
                mine.any = true;
            }
            all = operation(all, room_.partial[warp]);
        }
        return mine;
    }

    template <class Operation>
    EMU_INLINE void add(emu::Scanned<T>&, Operation&, const T&, Nothing, Site) {}
    template <class Operation>
    EMU_INLINE void add(emu::Scanned<T>& mine, Operation& operation, const T&, const Initial& initial, Site) {
        mine.before = mine.any ? static_cast<T>(operation(initial.value, mine.before)) : initial.value;
        mine.any = true;
    }
    template <class Operation, class Callback>
    EMU_INLINE void add(emu::Scanned<T>& mine, Operation& operation, const T& all, Asked<Callback> asked, Site site) {
        T prefix = all;
        if (emu::linear_thread() < 32) {
            const uint32_t lanes = emu::lanes_among(kThreads);
            prefix = emu::value_of(0, lanes, T(asked.callback(all)), "cub::BlockScan", site);
        }
        if constexpr (!kInOneWarp) {
            if (emu::linear_thread() == 0) room_.prefix[0] = prefix;
            emu::barrier(-3, emu::Vote::None, 0, site);
            prefix = room_.prefix[0];
        }
        add(mine, operation, all, Initial{prefix}, site);
    }

    TempStorage& room_;
};

}  // namespace cub
