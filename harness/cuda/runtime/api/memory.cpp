// cudaMalloc, cudaFree and their kin.
#include <cstring>
#include <string>

#include "api/graphs.h"
#include "cuda_runtime_api.h"
#include "memory/memory.h"
#include "memory/registered.h"
#include "run/state.h"

using namespace emu;

namespace {

constexpr size_t kPitchAlignment = 512;
constexpr size_t kLargestGpu = size_t{192} << 30;  // bytes of memory

cudaError_t memory_error(const char* call, cudaError_t error, const std::string& text) {
    return static_cast<cudaError_t>(fail(call, error, text));
}

cudaError_t sticky() { return static_cast<cudaError_t>(state().sticky_error); }

// On a GPU the program would have got it: nothing that comes of the error is its fault.
void say_short_of_memory() {
    const Range all = reserve_arena();
    const size_t mib = static_cast<size_t>(all.end - all.begin) >> 20;
    const std::string what = "more memory than its " + std::to_string(mib) + " MiB; --set makes a program smaller";
    list_unsupported(what.c_str(), Site{"", 0});
    state().short_of_memory = state().incomplete = true;
}

cudaError_t allocate_kind(void** pointer, size_t bytes, AllocationKind kind, const char* call, const void* pc) {
    if (sticky()) return sticky();
    if (!pointer) return memory_error(call, cudaErrorInvalidValue, "null pointer for the result");
    *pointer = nullptr;
    if (!bytes) return cudaSuccess;
    Allocation* allocation = allocate(bytes, kind, pc);
    if (!allocation) {
        if (has_own_main && bytes < kLargestGpu) say_short_of_memory();
        return memory_error(call, cudaErrorMemoryAllocation,
                      std::to_string(bytes) + " bytes asked for, " + std::to_string(free_bytes()) + " are free");
    }
    *pointer = allocation->address;
    return cudaSuccess;
}

cudaError_t refuse_free(const char* call, const char* kind, const std::string& text, const void* pc) {
    Defect defect;
    defect.kind = kind;
    defect.text = std::string(call) + ": " + text;
    defect.pc = pc;
    report(defect);
    return memory_error(call, cudaErrorInvalidValue, text);
}

cudaError_t free_kind(void* pointer, bool host, const char* call, const void* pc) {
    if (sticky()) return sticky();
    if (!pointer) return cudaSuccess;
    Allocation* a = find_allocation(pointer);
    if (!a) return refuse_free(call, "invalid_free", "the pointer was never allocated on the device", pc);
    std::string name = "`" + a->name + "`";
    if (a->address != pointer) {
        return refuse_free(call, "invalid_free", "the pointer is inside " + name + ", not its start", pc);
    }
    if (a->freed) return refuse_free(call, "double_free", name + " has been freed before", pc);
    if (a->of_kernels && has_own_main) {
        return refuse_free(call, "invalid_free", name + " was allocated by a kernel, and is freed by kernels only", pc);
    }
    if (host != (a->kind == AllocationKind::Host)) {
        return refuse_free(call, "invalid_free", name + " is " + (host ? "device" : "pinned host") + " memory", pc);
    }
    release(*a);
    return cudaSuccess;
}

}  // namespace

#define CALLER __builtin_return_address(0)

namespace emu::api {

cudaError_t allocate(void** pointer, size_t bytes, const char* call) {
    const bool ordered_by_stream = std::strcmp(call, "cudaMalloc") != 0;
    if (cudaError_t error = ordered_by_stream ? cudaSuccess : refused_in_capture(call)) return error;
    return allocate_kind(pointer, bytes, AllocationKind::Device, call, CALLER);
}
cudaError_t allocate_managed(void** pointer, size_t bytes) {
    return allocate_kind(pointer, bytes, AllocationKind::Managed, "cudaMallocManaged", CALLER);
}
cudaError_t allocate_host(void** pointer, size_t bytes, const char* call) {
    return allocate_kind(pointer, bytes, AllocationKind::Host, call, CALLER);
}
cudaError_t allocate_pitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    return allocate_kind(pointer, *pitch * height, AllocationKind::Device, "cudaMallocPitch", CALLER);
}
cudaError_t device_pointer(void** device, void* host) {
    Allocation* a = find_allocation(host);
    if (is_registered(host, 1)) a = nullptr;
    else if (!a || a->kind != AllocationKind::Host) {
        return memory_error("cudaHostGetDevicePointer", cudaErrorInvalidValue, "the pointer is no pinned host memory");
    }
    *device = host;
    return cudaSuccess;
}
cudaError_t symbol_address(void** pointer, const void* symbol) {
    if (!find_symbol(symbol)) return memory_error("cudaGetSymbolAddress", cudaErrorInvalidSymbol, "no device variable");
    *pointer = const_cast<void*>(symbol);
    return cudaSuccess;
}
cudaError_t symbol_size(size_t* bytes, const void* symbol) {
    SymbolRecord* record = find_symbol(symbol);
    if (!record) return memory_error("cudaGetSymbolSize", cudaErrorInvalidSymbol, "no device variable");
    *bytes = record->bytes;
    return cudaSuccess;
}

}  // namespace emu::api

cudaError_t cudaFree(void* pointer) { return free_kind(pointer, false, "cudaFree", CALLER); }
cudaError_t cudaFreeHost(void* pointer) { return free_kind(pointer, true, "cudaFreeHost", CALLER); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    if (capturing(stream)) return emu::api::no_memory_nodes("cudaFreeAsync");
    return free_kind(pointer, false, "cudaFreeAsync", CALLER);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
    if (sticky()) return sticky();
    if (!has_own_main) {  // what kernels do there is not counted, as that of answers must be
        list_unsupported("cudaHostRegister", Site{"", 0});
        return memory_error("cudaHostRegister", cudaErrorNotSupported, "not supported on the emulated device");
    }
    if (!pointer || !bytes) return memory_error("cudaHostRegister", cudaErrorInvalidValue, "no memory");
    if (is_registered(pointer, 1) || arena().contains(pointer)) {
        return memory_error("cudaHostRegister", cudaErrorHostMemoryAlreadyRegistered, "it is pinned already");
    }
    register_host(pointer, bytes);
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) {
    if (unregister_host(pointer)) return cudaSuccess;
    return memory_error("cudaHostUnregister", cudaErrorHostMemoryNotRegistered, "the memory was never registered");
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
    void* device = nullptr;
    *flags = cudaHostAllocMapped;
    return emu::api::device_pointer(&device, pointer);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    *attributes = cudaPointerAttributes{cudaMemoryTypeUnregistered, 0, nullptr, const_cast<void*>(pointer)};
    const Allocation* a = find_allocation(pointer);
    bool held = a && !a->freed && pointer < a->address + a->bytes;
    if (is_registered(pointer, 1)) {
        *attributes = cudaPointerAttributes{cudaMemoryTypeHost, 0, const_cast<void*>(pointer), const_cast<void*>(pointer)};
        return cudaSuccess;
    }
    if (!held && !find_symbol(pointer)) return cudaSuccess;
    AllocationKind kind = held ? a->kind : AllocationKind::Device;
    attributes->type = kind == AllocationKind::Device    ? cudaMemoryTypeDevice
                       : kind == AllocationKind::Managed ? cudaMemoryTypeManaged
                                                         : cudaMemoryTypeHost;
    attributes->devicePointer = const_cast<void*>(pointer);
    if (kind == AllocationKind::Device) attributes->hostPointer = nullptr;
    return cudaSuccess;
}
