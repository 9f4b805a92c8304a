// What every CUDA source sees: the runtime API and the language of kernels.
#pragma once

#include "emulator.h"
#if defined(EMU_HOST_CODE)  // C++ that nvcc leaves to the host compiler, which knows nothing of kernels
#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#include "vector_types.h"
#include "vector_functions.h"
#include "cuda_runtime_api.h"
#else
#include "emu/qualifiers.h"
#include "vector_types.h"
#include "vector_functions.h"
#include "cuda_runtime_api.h"
#include "emu/builtins.h"
#include "emu/barriers.h"
#include "emu/warp.h"
#include "emu/active.h"
#include "emu/memory.h"
#include "emu/atomics.h"
#include "emu/texture.h"
#include "emu/ptx.h"
#include "emu/math.h"
#include "math_constants.h"
#endif
#include "emu/channels.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
