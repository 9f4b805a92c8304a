// cub::BlockStore: a block's values to memory.
#pragma once

#include "block_exchange.cuh"

namespace cub {

// Vectorized stores are those of single values here.
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

template <class T, int X, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
    using Exchange = BlockExchange<T, X, Items, false, Y, Z>;
    static constexpr bool kTransposes = Algorithm >= BLOCK_STORE_TRANSPOSE;
    struct Nothing {};
    using Site = emu::Site;

public:
    using TempStorage = std::conditional_t<kTransposes, typename Exchange::TempStorage, Nothing>;

    EMU_INLINE BlockStore() : room_(emu::own_storage<TempStorage>("cub::BlockStore")) {}
    EMU_INLINE BlockStore(TempStorage& room) : room_(room) {}

    template <class Out>
    EMU_INLINE void Store(Out out, T (&items)[Items], Site site = EMU_HERE) {
        Store(out, items, X * Y * Z * Items, site);
    }
    template <class Out>
    EMU_INLINE void Store(Out out, T (&items)[Items], int valid, Site site = EMU_HERE) {
        emu::expect_block(X * Y * Z, X * Y * Z, "cub::BlockStore in a block of another size than it is for", site);
        if constexpr (Algorithm == BLOCK_STORE_TRANSPOSE) Exchange(room_).BlockedToStriped(items, items, site);
        else if constexpr (kTransposes) Exchange(room_).BlockedToWarpStriped(items, items, site);
        for (unsigned i = 0; i < Items; ++i) {
            if (place(i) < valid) out[place(i)] = items[i];
        }
    }

private:
    static EMU_INLINE int place(unsigned i) {
        if constexpr (Algorithm == BLOCK_STORE_STRIPED || Algorithm == BLOCK_STORE_TRANSPOSE) return Exchange::striped(i);
        else if constexpr (kTransposes) return Exchange::warp_striped(i);
        else return Exchange::blocked(i);
    }

    TempStorage& room_;
};

}  // namespace cub
