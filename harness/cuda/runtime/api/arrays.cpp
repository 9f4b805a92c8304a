// Arrays and pitched memory of three dimensions.
#include "api/arrays.h"
#include "api/graphs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cuda_runtime_api.h"
#include "memory/memory.h"
#include "run/defects.h"
#include "run/state.h"

#define CALLER __builtin_return_address(0)

using namespace emu;

namespace {

std::vector<cudaArray_const_t>& arrays() {
    static auto* instance = new std::vector<cudaArray_const_t>;
    return *instance;
}

cudaError_t refuse(const char* call, const std::string& text, cudaError_t error = cudaErrorInvalidValue) {
    return static_cast<cudaError_t>(fail(call, error, text));
}

cudaError_t make(const char* call, cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                 unsigned flags, const void* pc) {
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    if (!array || !format || !extent.width) return refuse(call, "no array, no format or no width");
    cudaArray made{*format, extent, flags, nullptr};
    if (!made.element()) return refuse(call, "a format without bits", cudaErrorInvalidChannelDescriptor);
    Allocation* allocation = allocate(made.pitch() * made.rows() * made.slices(), AllocationKind::Device, pc);
    if (!allocation) return refuse(call, "no memory for the array", cudaErrorMemoryAllocation);
    made.data = allocation->address;
    *array = new cudaArray(made);
    arrays().push_back(*array);
    return cudaSuccess;
}

/// One end of a copy: bytes from `begin`, with `pitch` between rows and `slice` between slices.
struct End {
    unsigned char* begin;
    size_t pitch;
    size_t slice;
};

End end_of(cudaArray_t array, const cudaPos& at, const cudaPitchedPtr& pointer) {
    if (array) return {array->at(at.x * array->element(), at.y, at.z), array->pitch(), array->pitch() * array->rows()};
    auto* begin = static_cast<unsigned char*>(pointer.ptr);
    return {begin + (at.z * pointer.ysize + at.y) * pointer.pitch + at.x, pointer.pitch, pointer.pitch * pointer.ysize};
}

bool inside(cudaArray_const_t array, const cudaPos& at, const cudaExtent& extent) {
    return !array || (at.x + extent.width <= array->extent.width && at.y + extent.height <= array->rows() &&
                      at.z + extent.depth <= array->slices());
}

cudaError_t copy_3d(const RowCopy& how, const cudaMemcpy3DParms& copy) {
    for (cudaArray_const_t array : {copy.srcArray, copy.dstArray}) {
        if (array && !is_array(array)) return refuse(how.call, "the array does not exist");
    }
    if (!inside(copy.srcArray, copy.srcPos, copy.extent) || !inside(copy.dstArray, copy.dstPos, copy.extent)) {
        Defect defect;
        defect.kind = "out_of_bounds";
        defect.text = std::string(how.call) + ": more than the array holds";
        defect.pc = how.pc;
        report(defect);
        return refuse(how.call, "more than the array holds");
    }
    // an extent is in elements where an array takes part, else in bytes
    const cudaArray_const_t array = copy.srcArray ? copy.srcArray : copy.dstArray;
    const size_t width = copy.extent.width * (array ? array->element() : 1);
    const End from = end_of(copy.srcArray, copy.srcPos, copy.srcPtr), to = end_of(copy.dstArray, copy.dstPos, copy.dstPtr);
    for (size_t z = 0; z < copy.extent.depth; ++z) {
        if (cudaError_t error = copy_rows(how, to.begin + z * to.slice, to.pitch, from.begin + z * from.slice,
                                          from.pitch, width, copy.extent.height, copy.kind)) {
            return error;
        }
    }
    return cudaSuccess;
}

/// Rows between plain memory and an array, x in bytes.
cudaError_t copy_array(const RowCopy& how, cudaArray_const_t array, size_t x, size_t y, void* memory, size_t pitch,
                       size_t width, size_t height, cudaMemcpyKind kind, bool to_array) {
    if (!is_array(array)) return refuse(how.call, "the array does not exist");
    unsigned char* at = array->at(x, y, 0);
    if (height > 1 && x + width > array->pitch()) return refuse(how.call, "rows wider than the array's");
    if (to_array) return copy_rows(how, at, height > 1 ? array->pitch() : width, memory, pitch, width, height, kind);
    return copy_rows(how, memory, pitch, at, height > 1 ? array->pitch() : width, width, height, kind);
}

}  // namespace

bool emu::is_array(cudaArray_const_t array) {
    return std::find(arrays().begin(), arrays().end(), array) != arrays().end();
}

emu::GraphWork emu::copy_3d_work(const char* call, const void* pc, const cudaMemcpy3DParms& copy) {
    return [=](cudaStream_t into) { return copy_3d({call, pc, into, false}, copy); };
}

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height,
                            unsigned flags) {
    return make("cudaMallocArray", array, format, {width, height, 0}, flags, CALLER);
}
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
    return make("cudaMalloc3DArray", array, format, extent, flags, CALLER);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
    if (!array) return cudaSuccess;
    if (!is_array(array)) return refuse("cudaFreeArray", "the array does not exist");
    arrays().erase(std::find(arrays().begin(), arrays().end(), array));
    release(*find_allocation(array->data));
    return cudaSuccess;  // the record stays: textures may name it
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
    if (!is_array(array)) return refuse("cudaArrayGetInfo", "the array does not exist");
    if (format) *format = array->format;
    if (extent) *extent = array->extent;
    if (flags) *flags = array->flags;
    return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
    if (!is_array(array)) return refuse("cudaGetChannelDesc", "the array does not exist");
    *format = array->format;
    return cudaSuccess;
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
    constexpr size_t kPitch = 512;
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    const size_t pitch = (extent.width + kPitch - 1) / kPitch * kPitch;
    Allocation* allocation = allocate(pitch * extent.height * extent.depth, AllocationKind::Device, CALLER);
    if (!allocation) return refuse("cudaMalloc3D", "no memory", cudaErrorMemoryAllocation);
    *pointer = cudaPitchedPtr{allocation->address, pitch, extent.width, extent.height};
    return cudaSuccess;
}
cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
    auto* begin = static_cast<unsigned char*>(pointer.ptr);
    for (size_t z = 0; z < extent.depth; ++z) {
        unsigned char* slice = begin + z * pointer.pitch * pointer.ysize;
        if (cudaError_t error = cudaMemset2D(slice, pointer.pitch, value, extent.width, extent.height)) return error;
    }
    return cudaSuccess;
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
    return copy_3d({"cudaMemcpy3D", CALLER, nullptr, true}, *copy);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream) {
    return copy_3d({"cudaMemcpy3DAsync", CALLER, stream, false}, *copy);
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return copy_array({"cudaMemcpyToArray", CALLER, nullptr, true}, to, x, y, const_cast<void*>(from), bytes, bytes, 1,
                      kind, true);
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_array({"cudaMemcpyToArrayAsync", CALLER, stream, false}, to, x, y, const_cast<void*>(from), bytes,
                      bytes, 1, kind, true);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
    return copy_array({"cudaMemcpyFromArray", CALLER, nullptr, true}, from, x, y, to, bytes, bytes, 1, kind, false);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
    return copy_array({"cudaMemcpy2DToArray", CALLER, nullptr, true}, to, x, y, const_cast<void*>(from), pitch, width,
                      height, kind, true);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_array({"cudaMemcpy2DToArrayAsync", CALLER, stream, false}, to, x, y, const_cast<void*>(from), pitch,
                      width, height, kind, true);
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
    return copy_array({"cudaMemcpy2DFromArray", CALLER, nullptr, true}, from, x, y, to, pitch, width, height, kind,
                      false);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_array({"cudaMemcpy2DFromArrayAsync", CALLER, stream, false}, from, x, y, to, pitch, width, height, kind,
                      false);
}
