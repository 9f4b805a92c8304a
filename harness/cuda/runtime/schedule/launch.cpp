#include "schedule/launch.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>

#include "api/graphs.h"
#include "cuda_runtime_api.h"
#include "memory/guard.h"
#include "memory/shared.h"
#include "observe/observer.h"
#include "run/block_sample.h"
#include "run/faults.h"
#include "run/following.h"
#include "run/state.h"
#include "schedule/grid.h"
#include "schedule/host_threads.h"
#include "schedule/meeting.h"
#include "schedule/scheduler.h"
#include "schedule/spinning.h"

namespace emu {

namespace {

struct Configuration {
    bool set = false;
    Index grid, block;
    size_t dynamic_shared;
    void* stream;
    const void* pc;
    bool cooperative = false;
};
thread_local Configuration configuration;

/// What a stub that is asked says of its kernel.
struct Answered {
    const Kernel* kernel = nullptr;
    void (*entry)(const void*) = nullptr;
    Closure closure{};
};
bool asked_for_kernel = false;  // the next stub only says which kernel it is of
Answered answered;

uint64_t launches = 0;  // of the process

/// Storage of the block that runs.
struct Storage {
    Thread threads[kMaxThreads];
    Warp warps[kMaxWarps];
    Table* tables = new_tables();
    Block block;
};
Storage& storage() {
    static auto* instance = new Storage;
    return *instance;
}

int refuse(const Kernel& kernel, const char* kind, const void* pc, int error, const std::string& text) {
    Defect defect;
    defect.kind = kind;
    defect.text = std::string("kernel `") + kernel.name + "`: " + text;
    defect.pc = pc;
    report(defect);
    return fail("launch", error, defect.text);
}

std::string dimensions(const Index& i) {
    return std::to_string(i.x) + " x " + std::to_string(i.y) + " x " + std::to_string(i.z);
}

int check(const Kernel& kernel, const Configuration& c) {
    auto invalid = [&](int error, const std::string& text) {
        return refuse(kernel, "invalid_launch", c.pc, error, text);
    };
    const Index &g = c.grid, &b = c.block;
    uint64_t threads = static_cast<uint64_t>(b.x) * b.y * b.z;
    if (!threads || !g.x || !g.y || !g.z) {
        return invalid(cudaErrorInvalidConfiguration,
                       "a dimension is zero: grid " + dimensions(g) + ", block " + dimensions(b));
    }
    if (b.x > 1024 || b.y > 1024 || b.z > 64 || threads > kMaxThreads) {
        return invalid(cudaErrorInvalidConfiguration,
                       "a block of " + dimensions(b) + " threads, where 1024 in all (1024 x 1024 x 64) is the limit");
    }
    if (g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535) {
        return invalid(cudaErrorInvalidConfiguration,
                       "a grid of " + dimensions(g) + " blocks, where 2147483647 x 65535 x 65535 is the limit");
    }
    const std::string shared = too_much_shared(kernel, c.dynamic_shared, kernel_state(kernel).static_shared);
    if (!shared.empty()) return invalid(cudaErrorInvalidValue, shared);
    const uint64_t blocks = static_cast<uint64_t>(g.x) * g.y * g.z;
    const uint64_t resident = resident_blocks(kernel, static_cast<unsigned>(threads), c.dynamic_shared);
    if (c.cooperative && blocks > resident) {
        return invalid(cudaErrorCooperativeLaunchTooLarge,
                       "a cooperative launch of " + std::to_string(blocks) + " blocks, where " +
                           std::to_string(resident) + " fit on the device at once");
    }
    if (stream_number(c.stream) < 0) return invalid(cudaErrorInvalidResourceHandle, "the stream does not exist");
    return cudaSuccess;
}

// Its blocks wait for each other, so none can be left out.
void leave_out(const Kernel& kernel) {
    constexpr const char* kWhat = "a sample of the blocks (--blocks) of a cooperative launch";
    list_unsupported(kWhat, kernel.site);
    fail("launch", cudaErrorNotSupported, std::string("kernel `") + kernel.name + "` was not run: " + kWhat);
    state().incomplete = true;
    each_allocation([](Allocation& a, void*) { if (!a.freed) on_host_write(a.address, a.bytes); }, nullptr);
}

void set_up_warps(Block& block) {
    Storage& s = storage();
    for (unsigned w = 0; w < block.warp_count; ++w) {
        unsigned lanes = std::min(kWarpLanes, block.thread_count - w * kWarpLanes);
        uint32_t exists = lanes == 32 ? ~0u : (1u << lanes) - 1;
        const unsigned first = w * kWarpLanes;
        s.warps[w] = Warp{&block, s.threads + first, w, exists, 0, exists, 0, 0, s.tables + first, nullptr, {}};
        s.warps[w].hold_nothing();
    }
    block.ready_warps = block.warp_count == 32 ? ~0u : (1u << block.warp_count) - 1;
}

void set_up_threads(Block& block, const Index& shape) {
    Index index{0, 0, 0};
    for (unsigned i = 0; i < block.thread_count; ++i) {
        Thread& thread = block.threads[i];
        thread.index = index;
        thread.linear = i;
        thread.lane = i % kWarpLanes;
        thread.warp = &block.warps[i / kWarpLanes];
        thread.block = &block;
        thread.stack = nullptr;
        thread.atomics = 0;
        thread.wait = Wait{};
        if (++index.x < shape.x) continue;
        index.x = 0;
        if (++index.y < shape.y) continue;
        index.y = 0;
        ++index.z;
    }
}

void set_up(Block& block, Launch& launch, uint64_t linear) {
    const Index& g = launch.grid;
    block.index = Index{static_cast<unsigned>(linear % g.x), static_cast<unsigned>(linear / g.x % g.y),
                        static_cast<unsigned>(linear / g.x / g.y)};
    block.linear = linear;
    block.live = block.thread_count;
    block.at_grid = 0;
    scheduler().begin_block(launch.number, linear);
    set_up_warps(block);
    set_up_threads(block, launch.block);
    forget_barrier();
    begin_shared(block);
}

// In mode EMU_SAMPLE, of `count` blocks in a row, whether block i runs: where grids end, and where 16 bits do.
bool sampled(uint64_t i, uint64_t count) {
    constexpr uint64_t kEnds = 32, kWords = 1 << 16;
    return i < kEnds || i + kEnds >= count || (i + kEnds >= kWords && i < kWords + kEnds);
}

// Rows of an answer may lie along x, or along the whole grid.
bool left_out(const Index& grid, uint64_t i, uint64_t blocks) {
    return (mode & EMU_SAMPLE) && !sampled(i, blocks) && !sampled(i % grid.x, grid.x);
}

// Which block is the i-th to run. In order is what most devices do at first; nothing promises it.
uint64_t nth_block(uint64_t i, uint64_t blocks) {
    if (block_order == BlockOrder::Forward) return i;
    if (block_order == BlockOrder::Backward) return blocks - 1 - i;
    // a stride that has no factor in common with the number of blocks visits each of them once
    uint64_t stride = (state().seed * 0x9e3779b1u) % blocks | 1;
    while (std::gcd(stride, blocks) != 1) stride += 2;
    return (i * (stride % blocks) + state().seed) % blocks;
}

bool run_blocks(Launch& launch) {
    Storage& s = storage();
    Block& block = s.block;
    block.launch = &launch;
    block.thread_count = launch.block.x * launch.block.y * launch.block.z;
    block.warp_count = (block.thread_count + kWarpLanes - 1) / kWarpLanes;
    block.threads = s.threads;
    block.warps = s.warps;
    block.shared = shared_base();
    block.shared_capacity = kSharedCapacity;
    uint64_t blocks = static_cast<uint64_t>(launch.grid.x) * launch.grid.y * launch.grid.z;
    const std::vector<uint64_t> sample = block_sample(launch);
    const uint64_t count = sample.empty() ? blocks : sample.size();
    bool finished = true;
    uint64_t i = 0;
    const std::function<bool(uint64_t, uint64_t)> run = [&](uint64_t begin, uint64_t end) {
        for (i = begin; finished && i < end; ++i) {
            if (!launch.cooperative && left_out(launch.grid, i, blocks)) continue;
            running_block = &block;
            const uint64_t number = nth_block(i, count);
            set_up(block, launch, sample.empty() ? number : sample[number]);
            if (follower.block) follower.block(block, i, count);
            on_block(block);
            finished = scheduler().run(block);
            if (finished && block.at_grid) set_aside(block);
            else on_block_end(block);
        }
        return finished;
    };
    while (finished && i < count) {
        if (on_blocks_left(launch, i, count, run)) i = count;
        else run(i, i + 1);
    }
    if (finished) finished = run_aside(block, blocks);
    forget_aside();
    running_block = nullptr;
    if (block_budget) note_sample(i, blocks);
    return finished;
}

LaunchRecord record_of(const Launch& launch, unsigned stream) {
    LaunchRecord record;
    record.kernel = launch.kernel->name;
    record.grid = launch.grid;
    record.block = launch.block;
    record.dynamic_shared = launch.dynamic_shared;
    record.stream = stream;
    record.threads = static_cast<uint64_t>(launch.grid.x) * launch.grid.y * launch.grid.z * launch.block.x *
                     launch.block.y * launch.block.z;
    return record;
}

void run(const Kernel& kernel, const Configuration& c, void (*entry)(const void*), const void* closure) {
    if (!shared_base() || !scheduler().reserve(c.block.x * c.block.y * c.block.z)) {
        fail("launch", cudaErrorMemoryAllocation, "no memory for the threads' stacks");
        return;
    }
    Launch launch{++launches, state().launches++, &kernel, c.grid, c.block, c.dynamic_shared, entry, closure, c.pc, {}};
    const unsigned stream = static_cast<unsigned>(stream_number(c.stream));
    const size_t defects = state().defects.size();
    launch.cooperative = c.cooperative;
    launch.record = record_of(launch, stream);
    if (follower.launch) follower.launch(launch);
    Reach reach;
    FaultHandlers handlers;
    SpinWatch watch;
    begin_shared(launch);
    on_launch(launch);
    const Arithmetic before = arithmetic_so_far();
    launch.record.finished = run_blocks(launch);
    launch.record.arithmetic = arithmetic_so_far() - before;
    on_launch_end(launch);
    KernelState& known = kernel_state(kernel);
    known.static_shared = std::max<size_t>(known.static_shared, launch.record.static_shared);
    if (!launch.refused.empty()) {
        // a GPU runs none of it
        --state().launches;
        ++state().launches_not_run;
        state().defects.erase(state().defects.begin() + static_cast<std::ptrdiff_t>(defects), state().defects.end());
        refuse(kernel, "invalid_launch", c.pc, cudaErrorInvalidValue, launch.refused);
        return;
    }
    known.static_is_known |= launch.record.finished;
    auto& streams = state().kernel_streams;
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) list(streams, stream);
    keep(std::move(launch.record));
}

/// The parameters of a kernel, kept for a launch to come.
using Kept = std::shared_ptr<unsigned char>;

Kept room_for(const Closure& closure) {
    constexpr size_t kAlignment = 256;  // of the largest vector, and more
    const size_t bytes = (closure.layouts[0].bytes + kAlignment - 1) / kAlignment * kAlignment;
    return Kept(static_cast<unsigned char*>(std::aligned_alloc(kAlignment, bytes)), std::free);
}

/// The parameters in the order of the list, as the compiler lays out what a lambda keeps; empty when it did otherwise.
Kept gathered(const Closure& closure, void* const* parameters) {
    Kept kept = room_for(closure);
    size_t offset = 0, alignment = 1;
    for (unsigned i = 1; i <= closure.parameters; ++i) {
        const Layout& each = closure.layouts[i];
        alignment = std::max(alignment, each.alignment);
        offset = (offset + each.alignment - 1) / each.alignment * each.alignment;
        if (offset + each.bytes > closure.layouts[0].bytes) return nullptr;
        std::memcpy(kept.get() + offset, parameters[i - 1], each.bytes);
        offset += each.bytes;
    }
    offset = std::max<size_t>((offset + alignment - 1) / alignment * alignment, 1);
    return offset == closure.layouts[0].bytes ? kept : nullptr;
}

/// A launch on a stream that is capturing.
void capture_launch(const Kernel& kernel, const Configuration& c, void (*entry)(const void*), const void* parameters,
                    const Closure& closure) {
    const Kept kept = room_for(closure);
    std::memcpy(kept.get(), parameters, closure.layouts[0].bytes);
    capture_work("launch", static_cast<cudaStream_t>(c.stream), cudaGraphNodeTypeKernel, [=, &kernel](cudaStream_t into) {
        configuration = c;
        configuration.stream = into;
        launch(kernel, entry, kept.get(), closure);
        return static_cast<cudaError_t>(state().sticky_error);
    });
}

Answered ask(const void* stub) {
    // The stub copies its parameters and calls launch, which then only notes the kernel: whatever they hold is never
    // used. Room above the call for a stub that takes them from the stack.
    auto* room = static_cast<volatile unsigned char*>(alloca(8192));
    room[0] = 0;
    asked_for_kernel = true;
    answered = Answered{};
    reinterpret_cast<void (*)(void*, void*, void*, void*, void*, void*)>(const_cast<void*>(stub))(
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    asked_for_kernel = false;
    return room[0] ? Answered{} : answered;
}

}  // namespace

KernelState& kernel_state(const Kernel& kernel) {
    static auto* states = new std::map<const Kernel*, KernelState>;
    return (*states)[&kernel];
}

const Kernel* kernel_of(const void* stub) { return ask(stub).kernel; }

Untyped untyped(const void* stub, void* const* parameters) {
    const Answered found = stub ? ask(stub) : Answered{};
    if (!found.kernel) return nullptr;
    const Kept kept = gathered(found.closure, parameters);
    if (!kept) return nullptr;
    return [=]() { launch(*found.kernel, found.entry, kept.get(), found.closure); };
}

GraphWork kernel_work(const char* call, const cudaKernelNodeParams& p, const void* pc) {
    const Untyped launched = p.kernelParams || !p.extra ? untyped(p.func, p.kernelParams) : nullptr;
    if (!launched) {
        graph_error(call, cudaErrorInvalidDeviceFunction, "no kernel, or its parameters are not in kernelParams");
        return nullptr;
    }
    const Configuration c{true, p.gridDim, p.blockDim, p.sharedMemBytes, nullptr, pc};
    return [=](cudaStream_t into) {
        configuration = c;
        configuration.stream = into;
        launched();
        return static_cast<cudaError_t>(state().sticky_error);
    };
}

void configure(Index grid, Index block, size_t dynamic_shared, void* stream) {
    configuration = Configuration{true, grid, block, dynamic_shared, stream, __builtin_return_address(0)};
}

void configure_cooperative() { configuration.cooperative = true; }

void launch(const Kernel& kernel, void (*entry)(const void*), const void* parameters, const Closure& closure) {
    if (asked_for_kernel) {
        answered = Answered{&kernel, entry, closure};
        return;
    }
    if (running_thread) unsupported("a launch from a kernel (dynamic parallelism)", kernel.site);
    Configuration c = configuration;
    configuration.set = false;
    const Exclusive exclusive;
    if (!c.set) {
        refuse(kernel, "no_launch_configuration", __builtin_return_address(0), cudaErrorMissingConfiguration,
               "called without a launch configuration <<<grid, block>>>");
        return;
    }
    if (state().sticky_error || check(kernel, c) != cudaSuccess) {
        ++state().launches_not_run;
        return;
    }
    if (capturing(static_cast<cudaStream_t>(c.stream))) return capture_launch(kernel, c, entry, parameters, closure);
    if (refused_beside_capture("launch", static_cast<cudaStream_t>(c.stream))) {
        ++state().launches_not_run;
        return;
    }
    if (c.cooperative && is_too_large(c.grid)) {
        ++state().launches_not_run;
        return leave_out(kernel);
    }
    run(kernel, c, entry, parameters);
}

}  // namespace emu
