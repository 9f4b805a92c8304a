// From requests to the totals of a launch and of each buffer.
#include <algorithm>

#include "counters/counters.h"
#include "observe/observer.h"

namespace emu {

namespace {

GlobalTraffic& global_total(Traffic traffic) {
    LaunchRecord& record = *counters.record;
    return traffic == Traffic::Load    ? record.global_load
           : traffic == Traffic::Store ? record.global_store
                                       : record.global_atomic;
}

void add_to_buffer(const Stretch& stretch, Traffic traffic) {
    BufferTraffic& buffer = traffic_of_buffer(stretch.buffer);
    const auto sectors = static_cast<uint64_t>(__builtin_popcountll(stretch.sectors));
    if (traffic == Traffic::Atomic) {
        buffer.atomic_bytes += stretch.bytes;
    } else if (traffic == Traffic::Load) {
        buffer.read_bytes += stretch.bytes;
        buffer.read_sectors += sectors;
    } else {
        buffer.written_bytes += stretch.bytes;
        buffer.written_sectors += sectors;
    }
}

void add_total(GlobalTraffic& total, uint64_t bytes, uint64_t sectors) {
    ++total.requests;
    total.bytes += bytes;
    total.sectors += sectors;
    // as if the lanes' bytes lay side by side; less when lanes share them
    total.ideal_sectors += std::min(sectors, (bytes + kSectorBytes - 1) / kSectorBytes);
}

uint64_t sectors_of(const Stretch& stretch) { return static_cast<uint64_t>(__builtin_popcountll(stretch.sectors)); }

// One stretch may be there more than once.
void add_scattered(const Stretch& first, const std::vector<Stretch>& pool, Traffic traffic) {
    static auto& stretches = *new std::vector<Stretch>;
    stretches.assign(1, first);
    for (uint32_t next = first.next; next; next = pool[next].next) stretches.push_back(pool[next]);
    std::sort(stretches.begin(), stretches.end(),
              [](const Stretch& a, const Stretch& b) { return a.number < b.number; });
    uint64_t bytes = 0, sectors = 0;
    for (size_t i = 0; i < stretches.size();) {
        Stretch sum = stretches[i];
        while (++i < stretches.size() && stretches[i].number == sum.number) {
            sum.sectors |= stretches[i].sectors;
            sum.bytes += stretches[i].bytes;
        }
        bytes += sum.bytes;
        sectors += sectors_of(sum);
        add_to_buffer(sum, traffic);
    }
    add_total(global_total(traffic), bytes, sectors);
}

void add_request(const Stretch& request, const std::vector<Stretch>& pool, Traffic traffic) {
    if (request.next) return add_scattered(request, pool, traffic);
    add_to_buffer(request, traffic);
    add_total(global_total(traffic), request.bytes, sectors_of(request));
}

/// Request by request, the lanes that came so often.
class LanesThatCame {
public:
    explicit LanesThatCame(const uint32_t (&counts)[kWarpLanes]) : counts_(counts) {}
    uint32_t next() {
        if (request_ == valid_until_) look();
        ++request_;
        return lanes_;
    }

private:
    void look() {
        lanes_ = 0;
        valid_until_ = UINT32_MAX;
        for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
            if (counts_[lane] <= request_) continue;
            lanes_ |= 1u << lane;
            valid_until_ = std::min(valid_until_, counts_[lane]);
        }
    }
    const uint32_t (&counts_)[kWarpLanes];
    uint32_t request_ = 0, valid_until_ = 0, lanes_ = 0;
};

/// Whether lanes came here so differently often that their k-th times need not be the same request. One less is the
/// end of a loop over a size that the warp does not divide.
bool is_uneven(const uint32_t (&counts)[kWarpLanes]) {
    uint32_t most = 0, least = UINT32_MAX;
    for (const uint32_t count : counts) {
        most = std::max(most, count);
        least = std::min(least, count ? count : UINT32_MAX);
    }
    return most - least > 1;
}

template <class Request>
void reset(Window<Request>& window) {
    if (is_uneven(window.counts)) counters.record->approximate = true;
    window.requests.clear();
    std::fill_n(window.counts, kWarpLanes, 0);
}

}  // namespace

SharedTraffic& shared_total(LaunchRecord& record, Traffic traffic) {
    return traffic == Traffic::Load    ? record.shared_load
           : traffic == Traffic::Store ? record.shared_store
                                       : record.shared_atomic;
}

void miss(size_t offset, unsigned bytes, Traffic traffic) {
    counters.record->approximate = true;
    const uint64_t sector = uint64_t{1} << (offset / kSectorBytes % 64);
    add_request(Stretch{sector, 0, buffer_at(offset), bytes, 0}, {}, traffic);
}

void close_windows(WarpWindows& windows) {
    for (const uint16_t place : windows.open_global) {
        const Traffic traffic = counters.places.traffic_of(place);
        for (const Stretch& request : windows.global[place].requests) add_request(request, windows.pool, traffic);
        reset(windows.global[place]);
    }
    for (const uint16_t place : windows.open_shared) {
        SharedTraffic& total = shared_total(*counters.record, counters.places.traffic_of(place));
        LanesThatCame came(windows.shared[place].counts);
        for (BankRequest& request : windows.shared[place].requests) {
            request.lanes = came.next();
            ++total.requests;
            total.wavefronts += wavefronts_of(request);
            total.ideal_wavefronts += ideal_wavefronts_of(request);
            total.lone_requests += __builtin_popcount(request.lanes) == 1;
        }
        reset(windows.shared[place]);
    }
    windows.open_global.clear();
    windows.open_shared.clear();
    windows.pool.resize(1);
}

}  // namespace emu
