// cub::BlockExchange: the values of a block in another order. Blocked: a thread's values are neighbours. Striped: thread
// t has value t, t + threads and so on. Warp-striped: the same within the values of each warp.
#pragma once

#include "../../emu/collectives.h"
#include "../util_type.cuh"

namespace cub {

template <class T, int X, int Items, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
    static constexpr unsigned kThreads = X * Y * Z;
    using Site = emu::Site;

public:
    struct TempStorage {
        emu::Room<T, kThreads * Items> items;
    };

    EMU_INLINE BlockExchange() : room_(emu::own_storage<TempStorage>("cub::BlockExchange")) {}
    EMU_INLINE BlockExchange(TempStorage& room) : room_(room) {}

    /// Where a thread's i-th value is in the block's order.
    static EMU_INLINE unsigned blocked(unsigned i) { return emu::linear_thread() * Items + i; }
    static EMU_INLINE unsigned striped(unsigned i) { return i * kThreads + emu::linear_thread(); }
    static EMU_INLINE unsigned warp_striped(unsigned i) {
        const unsigned thread = emu::linear_thread(), first = thread & ~31u;
        const unsigned lanes = kThreads - first < 32 ? kThreads - first : 32;
        return first * Items + i * lanes + (thread - first);
    }

    template <class Out>
    EMU_INLINE void StripedToBlocked(const T (&in)[Items], Out (&out)[Items], Site site = EMU_HERE) {
        move(in, out, striped, blocked, site);
    }
    template <class Out>
    EMU_INLINE void BlockedToStriped(const T (&in)[Items], Out (&out)[Items], Site site = EMU_HERE) {
        move(in, out, blocked, striped, site);
    }
    template <class Out>
    EMU_INLINE void WarpStripedToBlocked(const T (&in)[Items], Out (&out)[Items], Site site = EMU_HERE) {
        move(in, out, warp_striped, blocked, site);
    }
    template <class Out>
    EMU_INLINE void BlockedToWarpStriped(const T (&in)[Items], Out (&out)[Items], Site site = EMU_HERE) {
        move(in, out, blocked, warp_striped, site);
    }
    template <class Out, class Rank>
    EMU_INLINE void ScatterToBlocked(const T (&in)[Items], Out (&out)[Items], Rank (&ranks)[Items],
                                     Site site = EMU_HERE) {
        move(in, out, [&](unsigned i) { return static_cast<unsigned>(ranks[i]); }, blocked, site);
    }
    template <class Out, class Rank>
    EMU_INLINE void ScatterToStriped(const T (&in)[Items], Out (&out)[Items], Rank (&ranks)[Items],
                                     Site site = EMU_HERE) {
        move(in, out, [&](unsigned i) { return static_cast<unsigned>(ranks[i]); }, striped, site);
    }

    EMU_INLINE void StripedToBlocked(T (&items)[Items], Site site = EMU_HERE) { StripedToBlocked(items, items, site); }
    EMU_INLINE void BlockedToStriped(T (&items)[Items], Site site = EMU_HERE) { BlockedToStriped(items, items, site); }
    EMU_INLINE void WarpStripedToBlocked(T (&items)[Items], Site site = EMU_HERE) {
        WarpStripedToBlocked(items, items, site);
    }
    EMU_INLINE void BlockedToWarpStriped(T (&items)[Items], Site site = EMU_HERE) {
        BlockedToWarpStriped(items, items, site);
    }
    template <class Rank>
    EMU_INLINE void ScatterToBlocked(T (&items)[Items], Rank (&ranks)[Items], Site site = EMU_HERE) {
        ScatterToBlocked(items, items, ranks, site);
    }
    template <class Rank>
    EMU_INLINE void ScatterToStriped(T (&items)[Items], Rank (&ranks)[Items], Site site = EMU_HERE) {
        ScatterToStriped(items, items, ranks, site);
    }

private:
    template <class Out, class From, class To>
    EMU_INLINE void move(const T (&in)[Items], Out (&out)[Items], From from, To to, Site site) {
        emu::expect_block(kThreads, kThreads, "cub::BlockExchange in a block of another size than it is for", site);
        for (unsigned i = 0; i < Items; ++i) {
            const unsigned place = from(i);
            if (place >= kThreads * Items) emu::trap("trap", "cub::BlockExchange to a rank past the last one", site);
            room_.items[place] = in[i];
        }
        emu::barrier(-2, emu::Vote::None, 0, site);
        for (unsigned i = 0; i < Items; ++i) out[i] = room_.items[to(i)];
    }

    TempStorage& room_;
};

}  // namespace cub
