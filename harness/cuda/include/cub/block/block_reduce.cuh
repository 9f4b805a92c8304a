// cub::BlockReduce: the result is the first thread's; the others have none.
#pragma once

#include "../../emu/collectives.h"
#include "../thread/thread_operators.cuh"

namespace cub {

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
};

template <class T, int X, BlockReduceAlgorithm Algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
    static constexpr unsigned kThreads = X * Y * Z;
    // NVIDIA's meets at no barrier then, and needs no storage
    static constexpr bool kInOneWarp = kThreads <= 32 && Algorithm != BLOCK_REDUCE_WARP_REDUCTIONS;

public:
    struct TempStorage {
        emu::Room<T, (kThreads + 31) / 32> partial;  // of every warp
    };

    EMU_INLINE BlockReduce() : room_(emu::own_storage<TempStorage>("cub::BlockReduce")) {}
    EMU_INLINE BlockReduce(TempStorage& room) : room_(room) {}

    template <class Operation>
    EMU_INLINE T Reduce(T input, Operation operation, emu::Site site = EMU_HERE) {
        return reduced(input, operation, kThreads, kThreads, site);
    }
    template <class Operation>
    EMU_INLINE T Reduce(T input, Operation operation, int valid, emu::Site site = EMU_HERE) {
        const unsigned count = valid < 0 ? 0 : valid;
        return reduced(input, operation, count < kThreads ? count : kThreads, 1, site);
    }
    template <int Items, class Operation>
    EMU_INLINE T Reduce(T (&inputs)[Items], Operation operation, emu::Site site = EMU_HERE) {
        T sum = inputs[0];
        for (int i = 1; i < Items; ++i) sum = operation(sum, inputs[i]);
        return Reduce(sum, operation, site);
    }
    EMU_INLINE T Sum(T input, emu::Site site = EMU_HERE) { return Reduce(input, cub::Sum(), site); }
    EMU_INLINE T Sum(T input, int valid, emu::Site site = EMU_HERE) { return Reduce(input, cub::Sum(), valid, site); }
    template <int Items>
    EMU_INLINE T Sum(T (&inputs)[Items], emu::Site site = EMU_HERE) {
        return Reduce(inputs, cub::Sum(), site);
    }

private:
    template <class Operation>
    EMU_INLINE T reduced(const T& input, Operation& operation, unsigned valid, unsigned needed, emu::Site site) {
        emu::expect_block(kThreads, needed, "cub::BlockReduce in a block of another size than it is for", site);
        const unsigned thread = emu::linear_thread(), first = thread & ~31u;
        const unsigned count = valid > first ? (valid - first < 32 ? valid - first : 32) : 0;
        const uint32_t lanes = emu::lanes_among(kThreads) & emu::lanes_among(emu::threads_of_block());
        T sum = emu::reduced(lanes, count, input, operation, "cub::BlockReduce", site);
        if constexpr (kInOneWarp) return thread ? emu::undefined(input) : sum;
        if (thread == first) room_.partial[thread / 32] = sum;
        emu::barrier(-2, emu::Vote::None, 0, site);
        if (thread != 0) return emu::undefined(input);
        for (unsigned warp = 1; warp * 32 < valid; ++warp) sum = operation(sum, room_.partial[warp]);
        return sum;
    }

    TempStorage& room_;
};

}  // namespace cub
