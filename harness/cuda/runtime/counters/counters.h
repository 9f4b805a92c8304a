// What a launch moves: bytes exactly; requests, sectors and wavefronts by putting the lanes of a warp together.
//
// Lanes run one after the other, so a request is put together after the fact: the k-th access of each lane at one place
// in the source, since all lanes of the warp last met, is the warp's k-th request there.
#pragma once

#include <cstdint>
#include <vector>

#include "shadow/shadow.h"
#include "threads.h"

namespace emu {

constexpr size_t kSectorBytes = 32;
constexpr size_t kStretchBytes = 64 * kSectorBytes;  // one bit of a mask for each sector
constexpr unsigned kMaxPlaces = 1024;                // in the source, in one launch
constexpr size_t kMaxRequests = 1 << 20;             // of one warp at one place, between two meetings

enum class Traffic : uint8_t { Load, Store, Atomic };

/// Sectors of one request that lie in one stretch of memory; `next` is in the warp's
/// pool, 0: none. More than one may be of the same stretch.
struct Stretch {
    uint64_t sectors;
    uint32_t number;
    uint32_t buffer;
    uint32_t bytes;
    uint32_t next;
};

/// Words that lanes of a warp ask of shared memory.
struct BankRequest {
    uint32_t lanes;  // known once the lanes have met
    uint32_t bytes;  // of a lane
    uint16_t word[kWarpLanes];
};

/// The requests of a warp at one place since its lanes last met.
template <class Request>
struct Window {
    std::vector<Request> requests;
    uint32_t counts[kWarpLanes] = {};

    /// The lane's next one; null where none of its warp has come so far. By address: a size would be a division.
    Request* next(unsigned lane) {
        Request* request = requests.data() + counts[lane];
        return request < requests.data() + requests.size() ? request : nullptr;
    }
};

/// Which places a launch has met; a number each.
class Places {
public:
    /// kMaxPlaces when there are too many.
    unsigned number_of(const void* pc, Traffic traffic) {
        const unsigned slot = slot_of(pc, traffic);
        return keys_[slot] ? numbers_[slot] : add(slot, key_of(pc, traffic));
    }
    /// kMaxPlaces when it is a new one.
    unsigned known(const void* pc, Traffic traffic) const {
        const unsigned slot = slot_of(pc, traffic);
        return keys_[slot] ? numbers_[slot] : kMaxPlaces;
    }
    Traffic traffic_of(unsigned number) const { return traffic_[number]; }
    void clear();

private:
    static constexpr unsigned kSlots = 4 * kMaxPlaces;
    static uintptr_t key_of(const void* pc, Traffic traffic) {
        return reinterpret_cast<uintptr_t>(pc) << 2 | static_cast<uintptr_t>(traffic);
    }
    static unsigned hash(uintptr_t key) { return static_cast<unsigned>(key * 0x9e3779b97f4a7c15u >> 32) % kSlots; }
    /// The place's, or a free one for it.
    unsigned slot_of(const void* pc, Traffic traffic) const {
        const uintptr_t key = key_of(pc, traffic);
        unsigned slot = hash(key);
        while (keys_[slot] != key && keys_[slot]) slot = (slot + 1) % kSlots;
        return slot;
    }
    unsigned add(unsigned slot, uintptr_t key);
    uintptr_t keys_[kSlots] = {};
    uint16_t numbers_[kSlots] = {};
    Traffic traffic_[kMaxPlaces] = {};
    unsigned count_ = 0;
};

struct WarpWindows {
    Window<Stretch> global[kMaxPlaces];
    Window<BankRequest> shared[kMaxPlaces];
    std::vector<uint16_t> open_global, open_shared;  // those with requests
    std::vector<Stretch> pool = std::vector<Stretch>(1);  // what did not fit a request's own stretch
};

struct Counters {
    Places places;
    WarpWindows* warps[kMaxWarps] = {};
    std::vector<BufferTraffic> buffers;  // per extent of the arena; 0 is none's
    std::vector<BufferTraffic> symbols;
    BitMap read, written;             // unique bytes
    LaunchRecord* record = nullptr;
    uint64_t shared_bytes[3] = {};    // of the running launch, by Traffic
};
extern Counters counters;

void counters_launch(Launch& launch);
void counters_launch_end(Launch& launch);
void counters_barrier(const Block& block);
void counters_meeting(const Warp& warp, uint32_t present);

/// Requests are looked at and forgotten: the lanes of the warp have met.
void close_windows(WarpWindows& windows);
uint64_t wavefronts_of(const BankRequest& request);
uint64_t ideal_wavefronts_of(const BankRequest& request);

/// A number for the allocation or symbol at the offset, and what it has moved.
uint32_t buffer_at(size_t offset);
BufferTraffic& traffic_of_buffer(uint32_t buffer);
SharedTraffic& shared_total(LaunchRecord& record, Traffic traffic);
/// An access that cannot be put together with others: a request of its own.
void miss(size_t offset, unsigned bytes, Traffic traffic);

/// An access at this offset of the arena; symbols lie behind it.
void count_global(size_t offset, unsigned bytes, Traffic traffic, const void* pc);
void count_symbol(uintptr_t address, unsigned bytes, Traffic traffic, const void* pc);
/// One of shared memory that no lane of its warp has come to so often since they last met.
void count_shared_first(size_t offset, unsigned bytes, Traffic traffic, const void* pc);

[[gnu::always_inline]] inline void put(BankRequest& request, size_t offset, unsigned bytes, unsigned lane) {
    request.bytes = bytes;
    request.word[lane] = static_cast<uint16_t>(offset / 4);
}

[[gnu::always_inline]] inline void count_shared(size_t offset, unsigned bytes, Traffic traffic, const void* pc) {
    const unsigned thread = running_thread->linear, lane = thread % kWarpLanes;
    WarpWindows* windows = counters.warps[thread / kWarpLanes];
    const unsigned place = counters.places.known(pc, traffic);
    if (__builtin_expect(!windows || place == kMaxPlaces, 0)) return count_shared_first(offset, bytes, traffic, pc);
    Window<BankRequest>& window = windows->shared[place];
    BankRequest* request = window.next(lane);
    if (__builtin_expect(!request, 0)) return count_shared_first(offset, bytes, traffic, pc);
    ++window.counts[lane];
    counters.shared_bytes[static_cast<unsigned>(traffic)] += bytes;
    put(*request, offset, bytes, lane);
}

inline Traffic traffic_of(const Access& access) {
    return access.atomic ? Traffic::Atomic : access.write ? Traffic::Store : Traffic::Load;
}

}  // namespace emu
