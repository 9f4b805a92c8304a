// What a launch moves: bytes exactly; requests, sectors and wavefronts by putting the lanes of a warp together.
//
// Lanes run one after the other, so a request is put together after the fact: the k-th access of each lane at one place
// in the source, since all lanes of the warp last met, is the warp's k-th request there.
#pragma once

#include <cstdint>
#include <vector>

#include "shadow.h"
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
    uint32_t lanes;
    uint32_t bytes;  // of a lane
    uint16_t word[kWarpLanes];
};

/// The requests of a warp at one place since its lanes last met.
template <class Request>
struct Window {
    std::vector<Request> requests;
    uint32_t counts[kWarpLanes] = {};
};

/// Which places a launch has met; a number each.
class Places {
public:
    /// kMaxPlaces when there are too many.
    unsigned number_of(const void* pc, Traffic traffic) {
        const uintptr_t key = reinterpret_cast<uintptr_t>(pc) << 2 | static_cast<uintptr_t>(traffic);
        for (unsigned slot = hash(key);; slot = (slot + 1) % kSlots) {
            if (keys_[slot] == key) return numbers_[slot];
            if (!keys_[slot]) return add(slot, key);
        }
    }
    Traffic traffic_of(unsigned number) const { return traffic_[number]; }
    void clear();

private:
    static constexpr unsigned kSlots = 4 * kMaxPlaces;
    static unsigned hash(uintptr_t key) { return static_cast<unsigned>(key * 0x9e3779b97f4a7c15u >> 32) % kSlots; }
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
    SharedTraffic* shared[3] = {};    // of the record, by Traffic
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
void miss(Traffic traffic, size_t offset, const Access& access);

/// An access at this offset of the arena; symbols lie behind it.
void count_global(size_t offset, const Access& access);
void count_shared(size_t offset, unsigned bytes, Traffic traffic, const void* pc);
void count_symbol(const Access& access);

inline Traffic traffic_of(const Access& access) {
    return access.atomic ? Traffic::Atomic : access.write ? Traffic::Store : Traffic::Load;
}

}  // namespace emu
