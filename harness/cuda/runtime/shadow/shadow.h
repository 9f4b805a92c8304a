// What is known of each byte of device memory: whether it is somebody's, and whether it was ever written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory/memory.h"
#include "run/defects.h"

namespace emu {

/// One access of a running thread (or of host code) as the hooks see it.
struct Access {
    uintptr_t address;
    unsigned bytes;
    bool write;
    bool strong;  // atomic, or a volatile access that passes a message
    bool atomic;
    bool is_volatile;
    bool aligned;  // the hardware asks for an address that is a multiple of `bytes`
    const void* pc;
    bool told = false;  // by a shim, which uses what it reads
    const char* verb() const { return atomic ? "atomic" : write ? "write" : "read"; }
};

/// Bits, one per byte of a range of memory: address space that is filled with zero pages as it is touched.
class BitMap {
public:
    void reserve(size_t bytes_of_memory);
    bool reserved() const { return words_ != nullptr; }
    /// Whether all of `bytes` <= 8 that do not cross a multiple of 8 are set.
    bool all(size_t offset, unsigned bytes) const {
        const unsigned wanted = mask(bytes) << (offset & 7);
        return (words_[offset >> 3] & wanted) == wanted;
    }
    void set(size_t offset, unsigned bytes) {
        words_[offset >> 3] = static_cast<unsigned char>(words_[offset >> 3] | mask(bytes) << (offset & 7));
    }
    bool range_all(size_t offset, size_t bytes) const;
    bool range_none(size_t offset, size_t bytes) const;
    void set_range(size_t offset, size_t bytes, bool value);
    /// How many bits of the range are set; they are cleared.
    uint64_t take_count(size_t offset, size_t bytes);
    /// The words of the first `bytes` bytes of memory.
    std::vector<unsigned char> copy(size_t bytes) const { return {words_, words_ + (bytes + 7) / 8}; }
    void put(const std::vector<unsigned char>& words) { std::copy(words.begin(), words.end(), words_); }

private:
    static constexpr unsigned mask(unsigned bytes) { return (1u << bytes) - 1; }
    unsigned char* words_ = nullptr;
    size_t bytes_ = 0;
};

/// The bytes of the arena that an allocation has, as offsets; empty once it is freed.
struct Extent {
    size_t begin = 0;
    size_t end = 0;
    size_t address = 0;  // where it began, also when freed
};

/// A range of memory with its marks. `valid` bytes are a variable's; `written` ones have a value.
struct Region {
    uintptr_t begin = 0;
    size_t bytes = 0;
    BitMap valid;
    BitMap written;
    size_t offset(uintptr_t address) const { return address - begin; }
    bool contains(uintptr_t address) const { return address - begin < bytes; }
};

/// A `__shared__` variable of the running launch.
struct SharedVariable {
    std::string name;
    size_t offset;
    size_t bytes;
};

// Symbols are told before constructors run, so this is constant from the start and needs none.
struct Shadow {
    Region arena;                // `valid` is not used: the extents tell
    Region shared;               // red zone before the block's own included
    Region symbols;              // from the first symbol's first byte to the last one's last; no bits
    uint32_t* owners = nullptr;  // per granule of the arena: which extent, 0: none
    Extent* extents = nullptr;
    uint32_t extent_count = 0;
    size_t high = 0;             // no allocation lies beyond this offset of the arena
    size_t shared_high = 0;      // likewise of shared memory

    const Extent& extent_at(size_t offset) const { return extents[owners[offset / kGranule]]; }
};
extern Shadow shadow_of_device;
std::vector<SharedVariable>& shared_variables();
inline Shadow& shadow() { return shadow_of_device; }

/// Whether the access is to memory that is there; what was wrong with it has been reported. Does not return when a
/// device would end the launch too.
bool check_arena_slowly(const Access& access);
bool check_shared_slowly(const Access& access);
/// Anything that is neither arena nor shared memory: symbols, the thread's own stack, constants, and what is illegal.
bool check_elsewhere(const Access& access);
/// Host code's access to device memory or to a symbol.
void check_host(const Access& access);

/// Compositions of what was found, each for an access that is known to be wrong.
void report_outside_allocation(const Access& access);
void report_outside_shared(const Access& access);
void report_outside_symbol(const Access& access);
void report_unwritten(const Access& access, Index block, Index thread);
Defect unwritten_defect(const Access& access);
[[noreturn]] void report_misaligned(const Access& access);
[[noreturn]] void report_not_device_memory(const Access& access);

/// The buffer, shared variable or symbol that holds the address (or ends just before it), and the offset in it.
struct Place {
    std::string name;
    int64_t offset = 0;
    size_t bytes = 0;
    const char* space = "global";
};
Place place_of(uintptr_t address);
/// How far past a variable of the module an access is taken for one to it.
constexpr uintptr_t kNearSymbol = 64;

/// Whether kernels may read the address although it is the host's: constants of this module.
bool is_constant_of_module(uintptr_t address);
/// Where this module was loaded; set before the first launch.
extern uintptr_t module_begin;
void find_module();

void shadow_launch();
void shadow_block(Block& block);
/// Which bytes of the block's shared memory have a value, and another block's in their place.
std::vector<unsigned char> shared_written();
void restore_shared_written(const std::vector<unsigned char>& kept);
void shadow_shared(Block& block, unsigned char* address, size_t bytes, const char* name);

// The hot path: what is right is found right here.

inline bool is_misaligned(const Access& access) { return access.aligned && (access.address & (access.bytes - 1)); }

/// Whether all of the bytes (a power of two, aligned) have a value; a write gives them one.
[[gnu::always_inline]] inline bool touch(Region& region, size_t offset, const Access& access) {
    const unsigned step = access.bytes < 8 ? access.bytes : 8;
    bool known = true;
    if (!access.write || access.atomic) {
        known = region.written.all(offset, step) && (access.bytes <= 8 || region.written.all(offset + 8, step));
    }
    if (access.write) {
        region.written.set(offset, step);
        if (access.bytes > 8) region.written.set(offset + 8, step);
    }
    return known;
}

/// A running thread reads bytes of which some have no value: reported now where the access decides something by itself,
/// else once it is known what becomes of it (unwritten.h).
void read_unwritten(Region& region, const Access& access);

[[gnu::always_inline]] inline bool check_arena(const Access& access) {
    Shadow& s = shadow();
    const size_t offset = s.arena.offset(access.address);
    const Extent& extent = s.extent_at(offset);
    const bool inside = offset >= extent.begin && offset + access.bytes <= extent.end;
    if (!inside || !access.aligned || is_misaligned(access)) return check_arena_slowly(access);
    if (!touch(s.arena, offset, access)) read_unwritten(s.arena, access);
    return true;
}

[[gnu::always_inline]] inline bool check_shared(const Access& access) {
    Shadow& s = shadow();
    const size_t offset = s.shared.offset(access.address);
    if (!access.aligned || is_misaligned(access)) return check_shared_slowly(access);
    const unsigned step = access.bytes < 8 ? access.bytes : 8;
    const bool inside = s.shared.valid.all(offset, step) && (access.bytes <= 8 || s.shared.valid.all(offset + 8, step));
    if (!inside) return check_shared_slowly(access);
    if (!touch(s.shared, offset, access)) read_unwritten(s.shared, access);
    return true;
}

}  // namespace emu
