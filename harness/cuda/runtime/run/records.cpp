#include "run/records.h"

#include <cstring>

#include "run/state.h"

namespace emu {

namespace {

template <class T>
bool same_bytes(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

bool same_buffers(const LaunchRecord& a, const LaunchRecord& b) {
    if (a.buffers.size() != b.buffers.size()) return false;
    for (auto i = a.buffers.begin(), j = b.buffers.begin(); i != a.buffers.end(); ++i, ++j) {
        if (i->first != j->first || !same_bytes(i->second, j->second)) return false;
    }
    return true;
}

bool same_traffic(const LaunchRecord& a, const LaunchRecord& b) {
    return same_bytes(a.global_load, b.global_load) && same_bytes(a.global_store, b.global_store) &&
           same_bytes(a.global_atomic, b.global_atomic) && same_bytes(a.shared_load, b.shared_load) &&
           same_bytes(a.shared_store, b.shared_store) && same_bytes(a.shared_atomic, b.shared_atomic);
}

}  // namespace

bool LaunchRecord::equal_but_for_count(const LaunchRecord& other) const {
    return kernel == other.kernel && same_bytes(grid, other.grid) && same_bytes(block, other.block) &&
           static_shared == other.static_shared && dynamic_shared == other.dynamic_shared && stream == other.stream &&
           finished == other.finished && approximate == other.approximate && barriers == other.barriers &&
           warp_meetings == other.warp_meetings && same_bytes(arithmetic, other.arithmetic) &&
           same_traffic(*this, other) && same_buffers(*this, other);
}

void keep(LaunchRecord record) {
    State& s = state();
    if (!s.records.empty() && s.records.back().equal_but_for_count(record)) {
        ++s.records.back().count;
    } else if (s.records.size() < kMaxLaunches) {
        s.records.push_back(std::move(record));
    } else {
        ++s.launches_unlisted;
        s.truncated = true;
    }
}

}  // namespace emu
