// What every CUDA source sees: the runtime API and the language of kernels.
#pragma once

#include "emulator.h"
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

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
