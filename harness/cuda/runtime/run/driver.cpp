// The functions for whoever runs the program: a driver beside the library, or the program's own start and end.
#include <algorithm>
#include <cstring>

#include "api/streams.h"
#include "cuda_runtime_api.h"
#include "memory/fill.h"
#include "memory/guard.h"
#include "observe/observer.h"
#include "run/report.h"
#include "run/state.h"
#include "schedule/scheduler.h"

#define EXPORTED extern "C" __attribute__((visibility("default"), used))

namespace emu {

unsigned mode = EMU_PLAIN;

}  // namespace emu

using namespace emu;

EXPORTED void emu_start(unsigned mode_bits, uint64_t seed) {
    state() = State{};
    state().seed = seed;
    mode = mode_bits;
    scheduler().set_seed(seed);
    start_memory();
    start_streams();
    on_start(mode_bits);
    guard_device_memory();
}

EXPORTED void emu_fill(unsigned fill, uint64_t turn) { choose_fill(static_cast<Fill>(fill), turn); }

EXPORTED int emu_name(const void* address, const char* name) {
    Allocation* allocation = find_allocation(address);
    if (!allocation) return -1;
    allocation->name = name;
    for (AllocationNote& known : state().allocations) {
        if (known.number == allocation->number) known.name = name;
    }
    return 0;
}

EXPORTED void* emu_allocate(size_t bytes, const char* name) {
    Allocation* allocation = allocate(std::max<size_t>(bytes, 1), AllocationKind::Device, nullptr);
    if (!allocation) return nullptr;
    if (name) emu_name(allocation->address, name);
    return allocation->address;
}

EXPORTED int emu_free(void* address) {
    Allocation* allocation = find_allocation(address);
    if (!allocation || allocation->address != address || allocation->freed) return cudaErrorInvalidValue;
    release(*allocation);
    return cudaSuccess;
}

EXPORTED int emu_write(void* device, const void* host, size_t bytes) {
    Allocation* a = find_allocation(device);
    if (!a || a->freed || static_cast<unsigned char*>(device) + bytes > a->address + a->bytes) {
        return cudaErrorInvalidValue;
    }
    Reach reach;
    std::memcpy(device, host, bytes);
    on_host_write(device, bytes);
    return cudaSuccess;
}

EXPORTED int emu_read(void* host, const void* device, size_t bytes) {
    Allocation* a = find_allocation(device);
    if (!a || static_cast<const unsigned char*>(device) + bytes > a->address + a->bytes) return cudaErrorInvalidValue;
    Reach reach;
    on_host_read(device, bytes);
    std::memcpy(host, device, bytes);
    return cudaSuccess;
}

EXPORTED void* emu_stream(unsigned* number) {
    void* stream = create_stream(cudaStreamNonBlocking, 0);
    if (number) *number = static_cast<unsigned>(stream_number(stream));
    return stream;
}

EXPORTED int emu_error() { return cudaPeekAtLastError(); }

EXPORTED size_t emu_report(char* buffer, size_t capacity) {
    std::string text = report_text();
    if (buffer && capacity) std::memcpy(buffer, text.data(), std::min(capacity, text.size()));
    open_device_memory();
    return text.size();
}
