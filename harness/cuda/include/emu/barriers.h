// Barriers of a block and of a warp, memory fences, and what ends or delays a thread.
#pragma once

#include "emulator.h"

// __COUNTER__ tells barriers on one line apart
#define __syncthreads() static_cast<void>(::emu::barrier(__COUNTER__, ::emu::Vote::None, 0, EMU_HERE))
#define __syncthreads_count(predicate) ::emu::barrier(__COUNTER__, ::emu::Vote::Count, !!(predicate), EMU_HERE)
#define __syncthreads_and(predicate) ::emu::barrier(__COUNTER__, ::emu::Vote::And, !!(predicate), EMU_HERE)
#define __syncthreads_or(predicate) ::emu::barrier(__COUNTER__, ::emu::Vote::Or, !!(predicate), EMU_HERE)

EMU_OUTLINE inline void __syncwarp(unsigned mask = 0xffffffffu, emu::Site site = EMU_HERE) {
    const unsigned char nothing = 0;
    emu::exchange(mask, &nothing, sizeof nothing, "__syncwarp", site);
}

inline void __threadfence_block() { emu::fence(emu::Scope::Block); }
inline void __threadfence() { emu::fence(emu::Scope::Device); }
inline void __threadfence_system() { emu::fence(emu::Scope::System); }

inline void __nanosleep(unsigned) { emu::yield(); }
[[noreturn]] inline void __trap(emu::Site site = EMU_HERE) { emu::trap("trap", "__trap()", site); }
inline void __brkpt() {}

// The device has no clock: a counter that every reading moves on, so that loops which wait for a time come to an end.
inline long long clock64() { return emu::ticks(); }
inline unsigned long long __nv_globaltimer() { return static_cast<unsigned long long>(emu::ticks()); }
