// Tensor-core matrices are not emulated: kernels that use them are named, and not run.
#pragma once

#include "cuda_runtime.h"

namespace nvcuda {
namespace wmma {}
}  // namespace nvcuda
