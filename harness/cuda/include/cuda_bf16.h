// __nv_bfloat16 and __nv_bfloat162.
#pragma once

#include "cuda_fp16.h"

using __nv_bfloat16 = emu::Narrow<emu::Brain16>;
using __nv_bfloat162 = emu::NarrowPair<emu::Brain16>;
using __nv_bfloat16_raw = emu::Raw;
using __nv_bfloat162_raw = emu::RawPair;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

EMU_NUMBER_NAMES(__nv_bfloat16, bfloat16)
EMU_PAIR_NAMES(__nv_bfloat16, __nv_bfloat162, bfloat16)

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7F80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7FFFu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001u)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7F7Fu)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000u)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3F80u)
