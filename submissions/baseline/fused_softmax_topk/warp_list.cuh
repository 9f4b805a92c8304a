// A list of LIST keys in the registers of one warp: entry i is register i % PER_LANE of lane i / PER_LANE.
//
// Every function is called by all 32 lanes. Loops over registers have constant bounds and are unrolled, so that no
// register is addressed at run time.
#pragma once

#include "keys.cuh"

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int LANES = 32;
constexpr int PER_LANE = 8;
constexpr int LIST = LANES * PER_LANE;

/// The keys that one lane holds.
struct List {
    Key keys[PER_LANE];
};

/// The larger of two keys if `larger`, else the smaller.
__device__ inline Key pick(Key a, Key b, bool larger) {
    return (a > b) == larger ? a : b;
}

/// Compare entries `STRIDE` apart in descending order where bit RUN of their number is 0, ascending elsewhere.
template <int RUN, int STRIDE>
__device__ void compare_exchange(List& list, int lane) {
#pragma unroll
    for (int r = 0; r < PER_LANE; ++r) {
        const bool descending = ((lane * PER_LANE + r) & RUN) == 0;
        if (STRIDE >= PER_LANE) {
            constexpr int distance = STRIDE / PER_LANE;
            const Key other = __shfl_xor_sync(ALL_LANES, list.keys[r], distance);
            list.keys[r] = pick(list.keys[r], other, ((lane & distance) == 0) == descending);
        } else if ((r & STRIDE) == 0) {
            const Key a = list.keys[r], b = list.keys[r | STRIDE];
            list.keys[r] = pick(a, b, descending);
            list.keys[r | STRIDE] = pick(a, b, !descending);
        }
    }
}

/// Turn runs of RUN entries, each first rising and then falling or the reverse, into sorted ones.
template <int RUN, int STRIDE = RUN / 2>
__device__ void sort_bitonic_runs(List& list, int lane) {
    compare_exchange<RUN, STRIDE>(list, lane);
    if constexpr (STRIDE > 1) sort_bitonic_runs<RUN, STRIDE / 2>(list, lane);
}

/// Sort in descending order.
template <int RUN = 2>
__device__ void sort(List& list, int lane) {
    sort_bitonic_runs<RUN>(list, lane);
    if constexpr (RUN < LIST) sort<2 * RUN>(list, lane);
}

/// Keep the LIST largest of two descending lists, in descending order.
///
/// Entry i against entry LIST - 1 - i of the other: the larger ones of all pairs are the LIST largest, and they fall
/// and then rise, so that one bitonic merge sorts them.
__device__ inline void keep_largest(List& list, const List& other, int lane) {
#pragma unroll
    for (int r = 0; r < PER_LANE; ++r) {
        const Key opposite = __shfl_xor_sync(ALL_LANES, other.keys[PER_LANE - 1 - r], LANES - 1);
        list.keys[r] = pick(list.keys[r], opposite, true);
    }
    sort_bitonic_runs<LIST>(list, lane);
}

/// Entry `i`, the same for all lanes, told to all of them. Every register is shuffled: choosing among values keeps the
/// list in registers, choosing among places would not.
__device__ inline Key entry(const List& list, int i) {
    Key found = NO_KEY;
#pragma unroll
    for (int r = 0; r < PER_LANE; ++r) {
        const Key told = __shfl_sync(ALL_LANES, list.keys[r], i / PER_LANE);
        if (r == i % PER_LANE) found = told;
    }
    return found;
}

/// Put the list where `load` finds it: register by register, so that lanes use different banks.
__device__ inline void store(const List& list, Key* place, int lane) {
#pragma unroll
    for (int r = 0; r < PER_LANE; ++r) place[r * LANES + lane] = list.keys[r];
}

/// A list that `store` put there; the keys from `count` on are taken as NO_KEY.
__device__ inline List load(const Key* place, int count, int lane) {
    List list;
#pragma unroll
    for (int r = 0; r < PER_LANE; ++r) list.keys[r] = r * LANES + lane < count ? place[r * LANES + lane] : NO_KEY;
    return list;
}

/// Where `store` puts entry `i`.
__device__ inline int place_of(int i) {
    return i % PER_LANE * LANES + i / PER_LANE;
}
