// Putting accesses of lanes together to requests of warps.
#include "counters/counters.h"

#include <algorithm>

namespace emu {

Counters counters;

namespace {

/// Those of the running thread's warp.
[[gnu::always_inline]] inline WarpWindows& windows_of_running() {
    WarpWindows*& windows = counters.warps[running_thread->warp->number];
    if (__builtin_expect(!windows, 0)) windows = new WarpWindows;
    return *windows;
}

/// A further request at this place; null when it is too much to remember.
template <class Request>
[[gnu::noinline]] Request* add_request(Window<Request>& window, std::vector<uint16_t>& open, unsigned place) {
    if (window.requests.size() >= kMaxRequests) {
        counters.record->approximate = true;
        return nullptr;
    }
    if (window.requests.empty()) open.push_back(static_cast<uint16_t>(place));
    window.requests.push_back(Request{});
    return &window.requests.back();
}

/// The request that the running lane's access belongs to; null when it is too much to remember.
template <class Request>
[[gnu::always_inline]] inline Request* request_of(Window<Request>& window, std::vector<uint16_t>& open, unsigned place) {
    const unsigned lane = running_thread->lane;
    Request* request = window.next(lane);
    ++window.counts[lane];
    return request ? request : add_request(window, open, place);
}

// A stretch that the request's first one is not: most often the one that the lane before met.
void add_elsewhere(std::vector<Stretch>& pool, Stretch& first, const Stretch& one) {
    Stretch& latest = pool[first.next];
    if (first.next && latest.number == one.number) {
        latest.sectors |= one.sectors;
        latest.bytes += one.bytes;
        return;
    }
    pool.push_back(one);
    pool.back().next = first.next;
    first.next = static_cast<uint32_t>(pool.size() - 1);
}

void set_bits(BitMap& map, size_t offset, unsigned bytes) {
    map.set(offset, bytes < 8 ? bytes : 8);
    if (bytes > 8) map.set(offset + 8, 8);
}

}  // namespace

void count_global(size_t offset, unsigned bytes, Traffic traffic, const void* pc) {
    if (traffic == Traffic::Load) set_bits(counters.read, offset, bytes);
    if (traffic == Traffic::Store) set_bits(counters.written, offset, bytes);
    const unsigned place = counters.places.number_of(pc, traffic);
    if (place == kMaxPlaces) return miss(offset, bytes, traffic);
    WarpWindows& windows = windows_of_running();
    Stretch* request = request_of(windows.global[place], windows.open_global, place);
    if (!request) return miss(offset, bytes, traffic);
    const auto number = static_cast<uint32_t>(offset / kStretchBytes);
    const uint64_t sector = uint64_t{1} << (offset / kSectorBytes % 64);
    if (!request->sectors) {
        *request = Stretch{sector, number, buffer_at(offset), bytes, 0};
    } else if (request->number == number) {
        request->sectors |= sector;
        request->bytes += bytes;
    } else {
        add_elsewhere(windows.pool, *request, Stretch{sector, number, buffer_at(offset), bytes, 0});
    }
}

void count_shared_first(size_t offset, unsigned bytes, Traffic traffic, const void* pc) {
    const unsigned place = counters.places.number_of(pc, traffic);
    counters.shared_bytes[static_cast<unsigned>(traffic)] += bytes;
    if (place == kMaxPlaces) {
        counters.record->approximate = true;
        return;
    }
    WarpWindows& windows = windows_of_running();
    BankRequest* request = request_of(windows.shared[place], windows.open_shared, place);
    if (request) put(*request, offset, bytes, running_thread->lane);
}

void counters_barrier(const Block& block) {
    for (unsigned warp = 0; warp < block.warp_count; ++warp) {
        if (counters.warps[warp]) close_windows(*counters.warps[warp]);
    }
}

void counters_meeting(const Warp& warp, uint32_t present) {
    if (!(warp.live() & ~present) && counters.warps[warp.number]) close_windows(*counters.warps[warp.number]);
}

unsigned Places::add(unsigned slot, uintptr_t key) {
    if (count_ == kMaxPlaces) return kMaxPlaces;
    keys_[slot] = key;
    numbers_[slot] = static_cast<uint16_t>(count_);
    traffic_[count_] = static_cast<Traffic>(key & 3);
    return count_++;
}

void Places::clear() {
    std::fill_n(keys_, kSlots, 0);
    count_ = 0;
}

}  // namespace emu
