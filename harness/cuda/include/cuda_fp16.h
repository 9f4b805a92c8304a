// half and half2.
#pragma once

#include "emu/narrow_functions.h"
#include "emu/narrow_names.h"

using __half = emu::Narrow<emu::Binary16>;
using __half2 = emu::NarrowPair<emu::Binary16>;
using __half_raw = emu::Raw;
using __half2_raw = emu::RawPair;
using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

EMU_NUMBER_NAMES(__half, half)
EMU_PAIR_NAMES(__half, __half2, half)

#define CUDART_INF_FP16 __ushort_as_half(0x7C00u)
#define CUDART_NAN_FP16 __ushort_as_half(0x7FFFu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7BFFu)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000u)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000u)
#define CUDART_ONE_FP16 __ushort_as_half(0x3C00u)
