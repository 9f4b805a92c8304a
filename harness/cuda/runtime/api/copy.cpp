// Copies and fills: checked at both ends, done at once.
#include <cstring>
#include <string>

#include "api/arrays.h"
#include "api/graphs.h"
#include "cuda_runtime_api.h"
#include "memory/guard.h"
#include "memory/memory.h"
#include "observe/observer.h"
#include "run/state.h"

using namespace emu;

namespace {

#define CALLER __builtin_return_address(0)

/// An API call, for what is said about it.
struct Call {
    const char* name;
    const void* pc;
    cudaStream_t stream = nullptr;
    bool synchronous = true;
};

cudaError_t copy_error(const Call& call, cudaError_t error, const std::string& text) {
    return static_cast<cudaError_t>(fail(call.name, error, text));
}

cudaError_t refuse(const Call& call, const char* kind, Defect defect, const std::string& text) {
    defect.kind = kind;
    defect.text = std::string(call.name) + ": " + text;
    defect.pc = call.pc;
    report(defect);
    return copy_error(call, cudaErrorInvalidValue, text);
}

cudaError_t usable(const Call& call) {
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    if (stream_number(call.stream) < 0) {
        return copy_error(call, cudaErrorInvalidResourceHandle, "the stream does not exist");
    }
    return refused_beside_capture(call.name, call.stream);
}

/// The call as a node of a graph makes it.
Call from_graph(Call call, cudaStream_t stream) {
    call.stream = stream;
    call.synchronous = false;
    return call;
}

/// What a pointer points into.
struct Place {
    Allocation* allocation;
    SymbolRecord* symbol;
    bool in_arena;
    explicit Place(const void* p)
        : allocation(find_allocation(p)), symbol(find_symbol(p)), in_arena(arena().contains(p)) {}
    bool device() const { return in_arena || symbol; }
    bool host() const { return !device() || (allocation && allocation->kind != AllocationKind::Device); }
};

/// Whether `bytes` from `p` on lie in one live allocation or symbol; host memory is not ours to know.
cudaError_t check_range(const Call& call, const void* p, size_t bytes, bool write) {
    Place place(p);
    if (!place.device()) return cudaSuccess;
    Defect defect;
    defect.space = "global";
    defect.access = write ? "write" : "read";
    defect.bytes = static_cast<unsigned>(bytes);
    std::string what = std::string(defect.access) + " of " + std::to_string(bytes) + " bytes";
    if (!place.allocation && !place.symbol) return refuse(call, "out_of_bounds", defect, what + " in no allocation");
    size_t size = place.symbol ? place.symbol->bytes : place.allocation->bytes;
    const unsigned char* begin = place.symbol ? place.symbol->address : place.allocation->address;
    defect.buffer = place.symbol ? place.symbol->name : place.allocation->name;
    size_t offset = static_cast<size_t>(static_cast<const unsigned char*>(p) - begin);
    defect.offset = static_cast<int64_t>(offset);
    std::string buffer = "`" + defect.buffer + "` (" + std::to_string(size) + " bytes)";
    if (place.allocation && place.allocation->freed) {
        return refuse(call, "use_after_free", defect, what + " of " + buffer + ", which has been freed");
    }
    if (place.allocation && place.allocation->of_kernels && has_own_main) {
        return copy_error(call, cudaErrorInvalidValue, buffer + " was allocated by a kernel: only kernels reach it");
    }
    if (offset <= size && bytes <= size - offset) return cudaSuccess;
    return refuse(call, "out_of_bounds", defect, what + " at byte " + std::to_string(offset) + " of " + buffer);
}

/// Whether both pointers are of the sides that the kind of copy names.
cudaError_t check_direction(const Call& call, const void* to, const void* from, cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDefault) return cudaSuccess;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
        return copy_error(call, cudaErrorInvalidMemcpyDirection, "no such direction");
    }
    auto check = [&](const char* role, const void* p, bool device, bool write) {
        Place place(p);
        if (device ? place.device() : place.host()) return cudaSuccess;
        Defect defect;
        defect.access = write ? "write" : "read";
        return refuse(call, device ? "host_pointer_in_kernel" : "device_pointer_on_host", defect,
                      std::string("the ") + role + " is " + (device ? "host" : "device") +
                          " memory, where the direction says " +
                          (device ? "device" : "host"));
    };
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (cudaError_t error = check("destination", to, to_device, true)) return error;
    return check("source", from, from_device, false);
}

const char* direction(const void* to, const void* from) {
    bool to_device = Place(to).device(), from_device = Place(from).device();
    if (to_device) return from_device ? "d2d" : "h2d";
    return from_device ? "d2h" : "h2h";
}

void move(void* to, const void* from, size_t bytes) {
    Reach reach;
    if (Place(from).device()) on_host_read(from, bytes);
    std::memmove(to, from, bytes);
    if (Place(to).device()) on_host_write(to, bytes);
}

void record(const Call& call, void* to, const void* from, size_t bytes) {
    list(state().copies, CopyRecord{bytes, direction(to, from), static_cast<unsigned>(stream_number(call.stream)),
        call.synchronous});
}

cudaError_t copy(const Call& call, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (cudaError_t error = usable(call)) return error;
    if (capturing(call.stream)) {
        return capture_work(call.name, call.stream, cudaGraphNodeTypeMemcpy,
                            [=](cudaStream_t into) { return copy(from_graph(call, into), to, from, bytes, kind); });
    }
    if (!bytes) return cudaSuccess;
    if (!to || !from) return copy_error(call, cudaErrorInvalidValue, "a null pointer");
    if (cudaError_t error = check_direction(call, to, from, kind)) return error;
    if (cudaError_t error = check_range(call, to, bytes, true)) return error;
    if (cudaError_t error = check_range(call, from, bytes, false)) return error;
    move(to, from, bytes);
    record(call, to, from, bytes);
    return cudaSuccess;
}

cudaError_t copy_2d(const Call& call, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind) {
    if (cudaError_t error = usable(call)) return error;
    if (capturing(call.stream)) {
        return capture_work(call.name, call.stream, cudaGraphNodeTypeMemcpy, [=](cudaStream_t into) {
            return copy_2d(from_graph(call, into), to, to_pitch, from, from_pitch, width, height, kind);
        });
    }
    if (!width || !height) return cudaSuccess;
    if (!to || !from) return copy_error(call, cudaErrorInvalidValue, "a null pointer");
    if (width > to_pitch || width > from_pitch) {
        return copy_error(call, cudaErrorInvalidPitchValue, "rows wider than their pitch");
    }
    if (cudaError_t error = check_direction(call, to, from, kind)) return error;
    if (cudaError_t error = check_range(call, to, to_pitch * (height - 1) + width, true)) return error;
    if (cudaError_t error = check_range(call, from, from_pitch * (height - 1) + width, false)) return error;
    Reach reach;  // once for all rows
    for (size_t row = 0; row < height; ++row) {
        move(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    }
    record(call, to, from, width * height);
    return cudaSuccess;
}

/// `value` has `element` bytes, the width is in bytes.
cudaError_t fill(const Call& call, void* pointer, size_t pitch, unsigned value, size_t width, size_t height,
                 unsigned element = 1) {
    if (cudaError_t error = usable(call)) return error;
    if (capturing(call.stream)) {
        return capture_work(call.name, call.stream, cudaGraphNodeTypeMemset, [=](cudaStream_t into) {
            return fill(from_graph(call, into), pointer, pitch, value, width, height, element);
        });
    }
    if (!width || !height) return cudaSuccess;
    if (!pointer) return copy_error(call, cudaErrorInvalidValue, "a null pointer");
    if (height > 1 && width > pitch) return copy_error(call, cudaErrorInvalidPitchValue, "rows wider than their pitch");
    if (!Place(pointer).device()) {
        return refuse(call, "host_pointer_in_kernel", Defect{},
            "the pointer is host memory, where device memory is filled");
    }
    if (cudaError_t error = check_range(call, pointer, pitch * (height - 1) + width, true)) return error;
    Reach reach;
    for (size_t row = 0; row < height; ++row) {
        char* begin = static_cast<char*>(pointer) + row * pitch;
        if (element == 1) std::memset(begin, static_cast<int>(value), width);
        else for (size_t at = 0; at + element <= width; at += element) std::memcpy(begin + at, &value, element);
        on_host_write(begin, width);
    }
    list(state().copies,
         CopyRecord{width * height, "set", static_cast<unsigned>(stream_number(call.stream)), call.synchronous});
    return cudaSuccess;
}

/// The bytes of a symbol that a copy is about.
cudaError_t symbol_bytes(const Call& call, const void* symbol, size_t bytes, size_t offset, bool write,
    unsigned char** at) {
    SymbolRecord* known = find_symbol(symbol);
    if (!known) return copy_error(call, cudaErrorInvalidSymbol, "no device variable");
    *at = known->address + offset;
    if (offset <= known->bytes && bytes <= known->bytes - offset) return cudaSuccess;
    Defect defect;
    defect.space = "global";
    defect.access = write ? "write" : "read";
    defect.bytes = static_cast<unsigned>(bytes);
    defect.buffer = known->name;
    defect.offset = static_cast<int64_t>(offset);
    std::string what = std::string(defect.access) + " of " + std::to_string(bytes) + " bytes";
    return refuse(call, "out_of_bounds", defect, what + " at byte " +
                                                     std::to_string(offset) + " of `" + known->name + "` (" +
                                                     std::to_string(known->bytes) + " bytes)");
}

}  // namespace

cudaError_t emu::copy_rows(const RowCopy& how, void* to, size_t to_pitch, const void* from, size_t from_pitch,
                           size_t width, size_t height, cudaMemcpyKind kind) {
    return copy_2d(Call{how.call, how.pc, how.stream, how.synchronous}, to, to_pitch, from, from_pitch, width, height,
                   kind);
}

emu::GraphWork emu::copy_work(const char* call, const void* pc, void* to, const void* from, size_t bytes,
                              cudaMemcpyKind kind) {
    return [=](cudaStream_t into) { return copy(Call{call, pc, into, false}, to, from, bytes, kind); };
}
emu::GraphWork emu::fill_work(const char* call, const void* pc, const cudaMemsetParams& p) {
    return [=](cudaStream_t into) {
        const Call made{call, pc, into, false};
        return fill(made, p.dst, p.pitch, p.value, p.width * p.elementSize, p.height, p.elementSize);
    };
}

namespace emu::api {

cudaError_t copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                           cudaStream_t stream, bool synchronous) {
    Call call{"cudaMemcpyToSymbol", CALLER, stream, synchronous};
    if (cudaError_t error = usable(call)) return error;
    unsigned char* at = nullptr;
    if (cudaError_t error = symbol_bytes(call, symbol, bytes, offset, true, &at)) return error;
    return copy(call, at, from, bytes, kind);
}

cudaError_t copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream, bool synchronous) {
    Call call{"cudaMemcpyFromSymbol", CALLER, stream, synchronous};
    if (cudaError_t error = usable(call)) return error;
    unsigned char* at = nullptr;
    if (cudaError_t error = symbol_bytes(call, symbol, bytes, offset, false, &at)) return error;
    return copy(call, to, at, bytes, kind);
}

}  // namespace emu::api

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return copy(Call{"cudaMemcpy", CALLER}, to, from, bytes, kind);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy(Call{"cudaMemcpyAsync", CALLER, stream, false}, to, from, bytes, kind);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
    return copy_2d(Call{"cudaMemcpy2D", CALLER}, to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_2d(Call{"cudaMemcpy2DAsync", CALLER, stream, false}, to, to_pitch, from, from_pitch, width, height,
        kind);
}
cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
    return fill(Call{"cudaMemset", CALLER}, pointer, bytes, static_cast<unsigned>(value), bytes, 1);
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    return fill(Call{"cudaMemsetAsync", CALLER, stream, false}, pointer, bytes, static_cast<unsigned>(value), bytes, 1);
}
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
    return fill(Call{"cudaMemset2D", CALLER}, pointer, pitch, static_cast<unsigned>(value), width, height);
}
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
    cudaStream_t stream) {
    return fill(Call{"cudaMemset2DAsync", CALLER, stream, false}, pointer, pitch, static_cast<unsigned>(value), width, height);
}
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t stream) {
    return usable(Call{"cudaMemPrefetchAsync", CALLER, stream});
}
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) {
    return static_cast<cudaError_t>(state().sticky_error);
}
