// CUDA arrays, and the copies that go to and from them.
#pragma once

#include "cuda_texture_types.h"

/// An array: rows without gaps, slices (of depth, layers or faces) one after the other, in memory of the device.
struct cudaArray {
    cudaChannelFormatDesc format;
    cudaExtent extent;  // as asked for: 0 where a dimension is none
    unsigned flags;
    unsigned char* data;

    size_t element() const { return static_cast<size_t>(format.x + format.y + format.z + format.w) / 8; }
    size_t rows() const { return extent.height ? extent.height : 1; }
    size_t slices() const { return extent.depth ? extent.depth : 1; }
    size_t pitch() const { return extent.width * element(); }
    unsigned char* at(size_t byte, size_t row, size_t slice) const {
        return data + (slice * rows() + row) * pitch() + byte;
    }
};

namespace emu {

bool is_array(cudaArray_const_t array);

/// An API call that moves rows: its name, where the author called it, and its stream.
struct RowCopy {
    const char* call;
    const void* pc;
    cudaStream_t stream;
    bool synchronous;
};
/// Rows of `width` bytes, both ends checked as those of cudaMemcpy2D.
cudaError_t copy_rows(const RowCopy& how, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t height, cudaMemcpyKind kind);

}  // namespace emu
