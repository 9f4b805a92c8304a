// cub::BlockLoad: a block's values from memory.
#pragma once

#include "block_exchange.cuh"

namespace cub {

// Vectorized loads are those of single values here.
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};

template <class T, int X, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
    using Exchange = BlockExchange<T, X, Items, false, Y, Z>;
    static constexpr bool kTransposes = Algorithm >= BLOCK_LOAD_TRANSPOSE;
    static constexpr int kAll = X * Y * Z * Items;
    struct Nothing {};
    using Site = emu::Site;

public:
    using TempStorage = std::conditional_t<kTransposes, typename Exchange::TempStorage, Nothing>;

    EMU_INLINE BlockLoad() : room_(emu::own_storage<TempStorage>("cub::BlockLoad")) {}
    EMU_INLINE BlockLoad(TempStorage& room) : room_(room) {}

    template <class In>
    EMU_INLINE void Load(In in, T (&items)[Items], Site site = EMU_HERE) {
        load(in, items, kAll, site);
    }
    /// Values past the first `valid` stay as they are.
    template <class In>
    EMU_INLINE void Load(In in, T (&items)[Items], int valid, Site site = EMU_HERE) {
        load(in, items, valid, site);
    }
    template <class In, class Default>
    EMU_INLINE void Load(In in, T (&items)[Items], int valid, Default otherwise, Site site = EMU_HERE) {
        for (T& item : items) item = static_cast<T>(otherwise);
        load(in, items, valid, site);
    }

private:
    static EMU_INLINE int place(unsigned i) {
        if constexpr (Algorithm == BLOCK_LOAD_STRIPED || Algorithm == BLOCK_LOAD_TRANSPOSE) return Exchange::striped(i);
        else if constexpr (kTransposes) return Exchange::warp_striped(i);
        else return Exchange::blocked(i);
    }

    template <class In>
    EMU_INLINE void load(In in, T (&items)[Items], int valid, Site site) {
        emu::expect_block(X * Y * Z, X * Y * Z, "cub::BlockLoad in a block of another size than it is for", site);
        for (unsigned i = 0; i < Items; ++i) {
            if (place(i) < valid) items[i] = in[place(i)];
        }
        if constexpr (Algorithm == BLOCK_LOAD_TRANSPOSE) Exchange(room_).StripedToBlocked(items, items, site);
        else if constexpr (kTransposes) Exchange(room_).WarpStripedToBlocked(items, items, site);
    }

    TempStorage& room_;
};

}  // namespace cub
