// Device memory: one arena of reserved address space, with red zones between allocations.
#pragma once

#include <string>

#include "threads.h"

namespace emu {

enum class AllocationKind : uint8_t { Device, Managed, Host };  // Host: pinned, which kernels reach too

constexpr size_t kGranule = 256;    // allocations start at multiples of it; no two share one
constexpr size_t kRedZone = 4096;   // at least this much lies between two allocations

struct Allocation {
    unsigned char* address;
    size_t bytes;
    AllocationKind kind;
    bool freed;
    bool by_program;   // made after emu_start
    unsigned number;   // in order of allocation, from 0, over the life of the process
    std::string name;  // "buffer 0" unless named, counted from emu_start
    const void* pc;    // of the author's call
    bool of_kernels = false;  // by malloc or new in device code
};

/// The reserved address space; the same for the life of the process. Null before the first use.
Range arena();
/// Reserve it now, if that has not been done (EMU_MEMORY_MIB of it; without, 2048 for a program and 1024 for an answer).
Range reserve_arena();

/// The allocation, freed and quarantined ones included, whose bytes hold `address`, or whose red zone behind it does;
/// null for anything else.
Allocation* find_allocation(const void* address);
/// Visit every allocation whose address space has not been given to another, in order of allocation.
void each_allocation(void (*visit)(Allocation&, void*), void* context);

/// Null when memory is exhausted. The bytes are filled as `choose_fill` says.
Allocation* allocate(size_t bytes, AllocationKind kind, const void* pc);
size_t free_bytes();
/// Allocations from here on are the program's, and numbered from 0.
void start_memory();
/// Filled again, and kept from use for a while; what an answer frees where nothing is watched is free as it is.
void release(Allocation& allocation);

/// A `__device__` or `__constant__` variable.
struct SymbolRecord {
    unsigned char* address;
    size_t bytes;
    std::string name;
    Space space;
};
SymbolRecord* find_symbol(const void* address);

}  // namespace emu
