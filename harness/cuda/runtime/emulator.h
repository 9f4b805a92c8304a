// What rewritten CUDA source and the shims in ../include ask of the emulated device.
//
// One OS thread runs everything. A CUDA thread is a fiber; a block's fibers take turns, blocks run one after the other.
#pragma once

#include <cstddef>
#include <cstdint>

#define EMU_UNINSTRUMENTED __attribute__((no_sanitize("thread")))
// for shims that touch device memory themselves: the caller's line is then the return address
#define EMU_OUTLINE __attribute__((noinline, no_sanitize("thread")))

namespace emu {

/// A place in the author's source.
struct Site {
    const char* file;
    int line;
};
/// Where the call is; g++ takes the builtins of a template's own default argument for the template's place.
constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
#define EMU_HERE ::emu::here()

struct Index {
    unsigned x, y, z;
};

// ---- launches -------------------------------------------------------------------------------------------------

/// A `__global__` function: one object per instantiation, in its stub.
struct Kernel {
    const char* name;
    Site site;
};

/// `<<<grid, block, shared, stream>>>`: the configuration that the next stub called on this thread takes.
void configure(Index grid, Index block, size_t dynamic_shared, void* stream);

struct Layout {
    size_t bytes, alignment;
};
/// How the parameters of a kernel are kept: the layout of all of them together, then of each.
struct Closure {
    const Layout* layouts;
    unsigned parameters;
};

/// Run `entry(parameters)` once per thread of the configured grid. Called by a stub; without a configuration it is the
/// defect "kernel called without a launch configuration".
void launch(const Kernel& kernel, void (*entry)(const void*), const void* parameters, const Closure& closure);

/// The types of a kernel's parameters.
template <class... P>
struct Parameters {};

template <class Body, class... P>
void launch(const Kernel& kernel, const Body& body, Parameters<P...> = {}) {
    static constexpr Layout layouts[] = {{sizeof(Body), alignof(Body)}, {sizeof(P), alignof(P)}...};
    launch(kernel, [](const void* closure) EMU_UNINSTRUMENTED { (*static_cast<const Body*>(closure))(); }, &body,
           Closure{layouts, sizeof...(P)});
}

// ---- where a thread is ----------------------------------------------------------------------------------------

extern "C" {
unsigned emu_thread_x() __attribute__((const));
unsigned emu_thread_y() __attribute__((const));
unsigned emu_thread_z() __attribute__((const));
unsigned emu_block_x() __attribute__((const));
unsigned emu_block_y() __attribute__((const));
unsigned emu_block_z() __attribute__((const));
unsigned emu_block_dim_x() __attribute__((const));
unsigned emu_block_dim_y() __attribute__((const));
unsigned emu_block_dim_z() __attribute__((const));
unsigned emu_grid_dim_x() __attribute__((const));
unsigned emu_grid_dim_y() __attribute__((const));
unsigned emu_grid_dim_z() __attribute__((const));
}
/// Linear thread index in its block; lane = linear % 32.
unsigned linear_thread();
/// Whether a kernel's thread is running (false: host code).
bool on_device();

// ---- shared memory --------------------------------------------------------------------------------------------

/// A static `__shared__` variable; the runtime gives it a place in the block's shared memory at its first use in a
/// launch.
struct SharedSlot {
    size_t bytes;
    size_t alignment;
    const char* name;
    size_t offset = 0;
    uint64_t launch = 0;  // the launch that `offset` belongs to
};
/// What `alignas` takes, a type or a number, as a number.
template <class T>
constexpr size_t alignment() {
    return alignof(T);
}
template <size_t Bytes>
constexpr size_t alignment() {
    return Bytes;
}
void* shared(SharedSlot& slot);
void* dynamic_shared();
size_t dynamic_shared_bytes();

/// `extern __shared__ T name[];`
template <class T>
struct DynamicShared {
    operator T*() const { return static_cast<T*>(dynamic_shared()); }
    template <class I>
    T& operator[](I i) const { return static_cast<T*>(dynamic_shared())[i]; }
};

/// A `__device__`, `__constant__` or `__managed__` variable, registered before main: it is device memory.
enum class Space : uint8_t { Global, Shared, Constant, Local, Host, Managed };
struct Symbol {
    Symbol(void* address, size_t bytes, const char* name, Space space);
};

/// `malloc`, `free` and `new` of device code; those of the host for a caller on the host.
void* kernel_malloc(size_t bytes);
void* kernel_new(size_t bytes, Site site);
void kernel_free(void* pointer);

// ---- meeting points -------------------------------------------------------------------------------------------

enum class Vote : uint8_t { None, And, Or, Count };
/// All threads of the block meet; the result is the vote over `predicate`. Two barriers are the same one when file,
/// line and id agree; threads that meet at different ones are a defect, threads that have exited before it a remark.
int barrier(int id, Vote vote, int predicate, Site site);
/// All threads of all blocks of a cooperative launch meet; in any other launch the kernel traps, as the device's does.
void grid_barrier(Site site);
bool is_cooperative();

/// What the lanes of `mask` brought: lane l's value is at deposits + l * bytes, for l in `present`; the caller is `lane`.
struct Meeting {
    const unsigned char* deposits;
    uint32_t present;
    uint32_t lane;
};
/// All live lanes of `mask` meet, each with a value of `bytes` (1..16); valid until the caller's next meeting. Lanes
/// that have exited are not in `present` (a shim that takes such a value calls inactive_lane); lanes that wait elsewhere
/// for good, or a caller outside its own mask, are defects named after `what`.
Meeting exchange(uint32_t mask, const void* mine, unsigned bytes, const char* what, Site site);
/// `what` took the value of a lane that did not take part.
void inactive_lane(const char* what, unsigned lane, Site site);
/// Lanes of the caller's warp that exist and have not exited.
uint32_t live_lanes();

// ---- memory ordering ------------------------------------------------------------------------------------------

/// Told before an atomic operation of `bytes` at `address`; the caller then does it plainly, uninstrumented.
void atomic(void* address, unsigned bytes, const void* pc);
#define EMU_PC __builtin_return_address(0)
enum class Scope : uint8_t { Block, Device, System };
void fence(Scope scope);
/// A read or write of `bytes` by an uninstrumented shim.
void access(const void* address, unsigned bytes, bool write, const void* pc);
/// Let the others run: for waiting loops (`__nanosleep`).
void yield();
/// `clock()` of device code; the host's for a caller on the host.
long long kernel_clock();
long long ticks();

// ---- ends -----------------------------------------------------------------------------------------------------

/// The running thread ends the whole launch: `__trap()`, a failed `assert`, an error of the kernel.
[[noreturn]] void trap(const char* kind, const char* text, Site site);
/// Something this device cannot do: an outcome of its own, never a fault of the program.
[[noreturn]] void unsupported(const char* what, Site site);

}  // namespace emu

// ---- for whoever runs the program -----------------------------------------------------------------------------

extern "C" {
/// Bits of a mode. Checking and counting find nothing in a build without instrumentation. Sampling runs only some of the
/// blocks of large launches: those at both ends of the grid and around 2^16.
enum { EMU_PLAIN = 0, EMU_CHECK = 1, EMU_COUNT = 2, EMU_SAMPLE = 4 };
/// Set the mode and the schedule's seed (0: in order) for launches from here on, and start an empty report.
void emu_start(unsigned mode, uint64_t seed);
/// What memory holds from here on that nobody has written, that of each block included: 0 for NaN bytes, 1 for a mixture
/// of NaN, large numbers, zeros and minus infinity that begins where `turn` says, 2 for what was there before, 3 for
/// zeros.
void emu_fill(unsigned fill, uint64_t turn);
/// Call a buffer by a name in reports; returns 0, or -1 when `address` is in no allocation.
int emu_name(const void* address, const char* name);
/// Device memory of the driver (allocations before emu_start are not the program's): null when exhausted.
void* emu_allocate(size_t bytes, const char* name);
int emu_free(void* address);
/// Copy to or from device memory; both return a cudaError_t.
int emu_write(void* device, const void* host, size_t bytes);
int emu_read(void* host, const void* device, size_t bytes);
/// A stream other than the default one, as the launched function's `cudaStream_t`; its number in reports is `*number`.
void* emu_stream(unsigned* number);
/// The error that the last calls left (a cudaError_t), which emu_start clears.
int emu_error();
/// Write the report since `emu_start` as JSON into `buffer`; returns its length (which may exceed `capacity`). A `pc`
/// in it lies inside the instruction in question (a return address is already corrected by one).
size_t emu_report(char* buffer, size_t capacity);
}
