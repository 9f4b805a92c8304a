// Atomic operations: told to the device, then done plainly, since one operating-system thread runs all.
#pragma once

#include <type_traits>

#include "../vector_types.h"
#include "emulator.h"

// The old value is returned; `old` and `value` are what `result` is made of.
#define EMU_ATOMIC_SCOPED(name, T, result)                              \
    EMU_OUTLINE inline T name(T* address, T value) {                    \
        ::emu::atomic(address, sizeof(T), EMU_PC);                      \
        const T old = *address;                                         \
        *address = (result);                                            \
        return old;                                                     \
    }
#define EMU_ATOMIC(name, T, result)               \
    EMU_ATOMIC_SCOPED(name, T, result)            \
    EMU_ATOMIC_SCOPED(name##_block, T, result)    \
    EMU_ATOMIC_SCOPED(name##_system, T, result)
#define EMU_ATOMIC_CAS_SCOPED(name, T)                                  \
    EMU_OUTLINE inline T name(T* address, T compare, T value) {         \
        ::emu::atomic(address, sizeof(T), EMU_PC);                      \
        const T old = *address;                                         \
        if (old == compare) *address = value;                           \
        return old;                                                     \
    }
#define EMU_ATOMIC_CAS(T)                         \
    EMU_ATOMIC_CAS_SCOPED(atomicCAS, T)           \
    EMU_ATOMIC_CAS_SCOPED(atomicCAS_block, T)     \
    EMU_ATOMIC_CAS_SCOPED(atomicCAS_system, T)

#define EMU_WRAPPED(operation) static_cast<int>(static_cast<unsigned>(old) operation static_cast<unsigned>(value))
EMU_ATOMIC(atomicAdd, int, EMU_WRAPPED(+))
EMU_ATOMIC(atomicAdd, unsigned int, old + value)
EMU_ATOMIC(atomicAdd, unsigned long long, old + value)
EMU_ATOMIC(atomicAdd, float, old + value)
EMU_ATOMIC(atomicAdd, double, old + value)
EMU_ATOMIC(atomicAdd, float2, (float2{old.x + value.x, old.y + value.y}))
EMU_ATOMIC(atomicAdd, float4, (float4{old.x + value.x, old.y + value.y, old.z + value.z, old.w + value.w}))
EMU_ATOMIC(atomicSub, int, EMU_WRAPPED(-))
EMU_ATOMIC(atomicSub, unsigned int, old - value)
EMU_ATOMIC(atomicExch, int, value)
EMU_ATOMIC(atomicExch, unsigned int, value)
EMU_ATOMIC(atomicExch, unsigned long long, value)
EMU_ATOMIC(atomicExch, float, value)
EMU_ATOMIC(atomicInc, unsigned int, old >= value ? 0u : old + 1u)
EMU_ATOMIC(atomicDec, unsigned int, old == 0u || old > value ? value : old - 1u)
EMU_ATOMIC_CAS(int)
EMU_ATOMIC_CAS(unsigned int)
EMU_ATOMIC_CAS(unsigned long long)
EMU_ATOMIC_CAS(unsigned short)

#define EMU_ATOMIC_ORDER(T)                            \
    EMU_ATOMIC(atomicMin, T, value < old ? value : old) \
    EMU_ATOMIC(atomicMax, T, value > old ? value : old)
EMU_ATOMIC_ORDER(int)
EMU_ATOMIC_ORDER(unsigned int)
EMU_ATOMIC_ORDER(long long)
EMU_ATOMIC_ORDER(unsigned long long)

#define EMU_ATOMIC_BITS(T)                  \
    EMU_ATOMIC(atomicAnd, T, old & value)   \
    EMU_ATOMIC(atomicOr, T, old | value)    \
    EMU_ATOMIC(atomicXor, T, old ^ value)
EMU_ATOMIC_BITS(int)
EMU_ATOMIC_BITS(unsigned int)
EMU_ATOMIC_BITS(unsigned long long)
