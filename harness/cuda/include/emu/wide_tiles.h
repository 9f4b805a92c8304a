// Tiles of several warps: they meet at words in shared memory, where partial results lie, too.
#pragma once

#include <cstdint>
#include <cstring>

#include "gather.h"

namespace emu {

/// Room for every tile of 64 to 1024 threads that a block can be cut into.
struct TileScratch {
    struct Gate {
        uint32_t pending, phase;
    };
    Gate gates[31];  // 16 tiles of 64 threads, 8 of 128, ...
    alignas(16) unsigned char partial[32][16];  // of every warp

    EMU_INLINE void begin(unsigned threads) {
        unsigned at = 0;
        for (unsigned size = 64; size <= 1024; size *= 2) {
            for (unsigned tile = 0; tile < 1024 / size; ++tile, ++at) {
                const unsigned first = tile * size, left = threads > first ? threads - first : 0;
                gates[at].pending = left < size ? left : size;
                gates[at].phase = 0;
            }
        }
    }

    EMU_INLINE void meet(unsigned size) {
        const unsigned tile = linear_thread() / size, first = tile * size;
        Gate& gate = gates[32 - 2048 / size + tile];
        const uint32_t phase = __atomic_load_n(&gate.phase, __ATOMIC_RELAXED);
        if (__atomic_fetch_sub(&gate.pending, 1u, __ATOMIC_ACQ_REL) == 1u) {
            const unsigned left = emu_block_dim_x() * emu_block_dim_y() * emu_block_dim_z() - first;
            __atomic_store_n(&gate.pending, left < size ? left : size, __ATOMIC_RELAXED);
            __atomic_store_n(&gate.phase, phase + 1, __ATOMIC_RELEASE);
            return;
        }
        while (__atomic_load_n(&gate.phase, __ATOMIC_ACQUIRE) == phase) yield();
    }

    /// All values of the tile combined, warp by warp, in every thread.
    template <class T, class Operation>
    EMU_INLINE T reduced(unsigned size, T value, Operation&& operation, Site site = EMU_HERE) {
        static_assert(sizeof(T) <= 16, "a value of at most 16 bytes");
        const unsigned warp = linear_thread() / 32u, first = linear_thread() / size * (size / 32u);
        const unsigned threads = emu_block_dim_x() * emu_block_dim_y() * emu_block_dim_z();
        const unsigned end = first + size / 32u < (threads + 31u) / 32u ? first + size / 32u : (threads + 31u) / 32u;
        const T own = of_warp(value, operation, site);
        if ((linear_thread() & 31u) == 0) *reinterpret_cast<T*>(partial[warp]) = own;
        meet(size);
        T all = *reinterpret_cast<T*>(partial[first]);
        for (unsigned other = first + 1; other < end; ++other) all = operation(all, *reinterpret_cast<T*>(partial[other]));
        meet(size);
        return all;
    }

private:
    template <class T, class Operation>
    static EMU_OUTLINE T of_warp(const T& value, Operation& operation, Site site) {
        const auto lanes = gathered(live_lanes(), value, "cooperative_groups::reduce", site);
        T all = value;
        bool begun = false;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (!(lanes.present >> lane & 1u)) continue;
            const T one = lanes.from(lane, "cooperative_groups::reduce", site);
            all = begun ? operation(all, one) : one;
            begun = true;
        }
        return all;
    }
};

}  // namespace emu
