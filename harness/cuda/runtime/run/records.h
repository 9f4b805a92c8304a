// What a launch did, as reports tell it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "arithmetic.h"
#include "emulator.h"

namespace emu {

struct GlobalTraffic {
    uint64_t bytes = 0, requests = 0, sectors = 0, ideal_sectors = 0;
};

struct SharedTraffic {
    uint64_t bytes = 0, requests = 0, wavefronts = 0, ideal_wavefronts = 0;
    uint64_t lone_requests = 0;  // of a single lane: a wavefront each, which nothing can conflict with
};

struct BufferTraffic {
    uint64_t read_bytes = 0, written_bytes = 0, atomic_bytes = 0, read_sectors = 0, written_sectors = 0;
    uint64_t unique_read_bytes = 0, unique_written_bytes = 0;
};

struct LaunchRecord {
    std::string kernel;
    Index grid{0, 0, 0};
    Index block{0, 0, 0};
    uint64_t static_shared = 0, dynamic_shared = 0;
    unsigned stream = 0;
    uint64_t threads = 0;
    bool finished = false;
    bool approximate = false;
    GlobalTraffic global_load, global_store, global_atomic;
    SharedTraffic shared_load, shared_store, shared_atomic;
    Arithmetic arithmetic;  // where it is counted
    uint64_t barriers = 0, warp_meetings = 0;
    std::map<std::string, BufferTraffic> buffers;
    uint64_t count = 1;
    bool equal_but_for_count(const LaunchRecord& other) const;
};

/// Keep the record, merged into the one before when it is equal to it.
void keep(LaunchRecord record);

}  // namespace emu
