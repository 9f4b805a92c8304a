// Questions about the device and its kernels, and errors.
#include <algorithm>
#include <cstring>
#include <string>

#include "api/graphs.h"
#include "cuda_runtime_api.h"
#include "memory/kernel_heap.h"
#include "memory/memory.h"
#include "memory/shared.h"
#include "run/state.h"
#include "schedule/launch.h"

using namespace emu;

// A plain device of compute capability 8.0; the figures are those that CUDA's guide gives for it.
namespace {

constexpr int kMultiprocessors = 108;
constexpr size_t kSharedPerMultiprocessor = 164 << 10;
constexpr size_t kSharedOptIn80 = 163 << 10;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kRegisters = 65536;

cudaError_t device_error(const char* call, cudaError_t error, const std::string& text) {
    return static_cast<cudaError_t>(fail(call, error, text));
}

cudaError_t alive() { return static_cast<cudaError_t>(state().sticky_error); }

cudaError_t check_device(const char* call, int device) {
    if (device == 0) return cudaSuccess;
    return device_error(call, cudaErrorInvalidDevice, "device " + std::to_string(device) + ": there is one, number 0");
}

}  // namespace

namespace emu {

const char* error_name(int error) {
    switch (error) {
#define EMU_NAME(name, value, text) \
    case value: return #name;
        EMU_CUDA_ERRORS(EMU_NAME)
        default: return "unrecognized error code";
    }
}

const char* error_text(int error) {
    switch (error) {
#define EMU_TEXT(name, value, text) \
    case value: return text;
        EMU_CUDA_ERRORS(EMU_TEXT)
        default: return "unrecognized error code";
    }
}

uint64_t resident_blocks(const Kernel& kernel, unsigned threads, size_t dynamic_shared) {
    const size_t shared = kernel_state(kernel).static_shared + dynamic_shared + (1 << 10);
    const int by_threads = kThreadsPerMultiprocessor / (static_cast<int>(threads + 31) / 32 * 32);
    const int by_shared = static_cast<int>(kSharedPerMultiprocessor / shared);
    return static_cast<uint64_t>(std::min({by_threads, by_shared, kBlocksPerMultiprocessor})) * kMultiprocessors;
}

}  // namespace emu

cudaError_t cudaPeekAtLastError() {
    const State& s = state();
    return static_cast<cudaError_t>(s.sticky_error ? s.sticky_error : s.last_error);
}
cudaError_t cudaGetLastError() {
    cudaError_t error = cudaPeekAtLastError();
    state().last_error = cudaSuccess;
    return error;
}
const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }
const char* cudaGetErrorString(cudaError_t error) { return error_text(error); }

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return check_device("cudaSetDevice", device); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
// What a fault left is cleared; what the program allocated goes.
cudaError_t cudaDeviceReset() {
    state().last_error = state().sticky_error = cudaSuccess;
    each_allocation([](Allocation& a, void*) { if (a.by_program && !a.freed) release(a); }, nullptr);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    ++state().device_syncs;
    if (cudaError_t error = refused_in_capture("cudaDeviceSynchronize")) return error;
    return alive();
}
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    if (limit == cudaLimitMallocHeapSize) heap_limit = value;
    return alive();
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    *value = limit == cudaLimitStackSize ? 1024 : limit == cudaLimitPrintfFifoSize ? 1 << 20 : heap_limit;
    return alive();
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int device, int peer) {
    *value = 0;
    if (cudaError_t error = check_device("cudaDeviceGetP2PAttribute", device)) return error;
    return check_device("cudaDeviceGetP2PAttribute", peer);
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
    std::strncpy(text, "0000:00:00.0", static_cast<size_t>(bytes));
    return check_device("cudaDeviceGetPCIBusId", device);
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char*) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    *flags = cudaDeviceScheduleAuto;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() { return alive(); }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    Range all = reserve_arena();
    *total = static_cast<size_t>(all.end - all.begin);
    *free = free_bytes();
    return alive();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    if (cudaError_t error = check_device("cudaGetDeviceProperties", device)) return error;
    *p = cudaDeviceProp{};
    Range all = reserve_arena();
    std::strcpy(p->name, "emulated device (sm_80)");
    p->totalGlobalMem = static_cast<size_t>(all.end - all.begin);
    p->sharedMemPerBlock = kSharedDefault;
    p->sharedMemPerBlockOptin = kSharedOptIn80;
    p->sharedMemPerMultiprocessor = kSharedPerMultiprocessor;
    p->reservedSharedMemPerBlock = 1 << 10;
    p->totalConstMem = 64 << 10;
    p->memPitch = 0x7fffffff;
    p->textureAlignment = 512;
    p->regsPerBlock = p->regsPerMultiprocessor = kRegisters;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsPerMultiProcessor = kThreadsPerMultiprocessor;
    p->maxBlocksPerMultiProcessor = kBlocksPerMultiprocessor;
    p->multiProcessorCount = kMultiprocessors;
    const int block[] = {1024, 1024, 64}, grid[] = {0x7fffffff, 65535, 65535};
    std::copy(block, block + 3, p->maxThreadsDim);
    std::copy(grid, grid + 3, p->maxGridSize);
    p->major = 8;
    p->clockRate = 1410000;
    p->memoryClockRate = 1215000;
    p->memoryBusWidth = 5120;
    p->l2CacheSize = 40 << 20;
    p->concurrentKernels = p->unifiedAddressing = p->managedMemory = p->canMapHostMemory = 1;
    p->streamPrioritiesSupported = p->localL1CacheSupported = p->globalL1CacheSupported = 1;
    p->asyncEngineCount = 3;
    p->deviceOverlap = p->cooperativeLaunch = p->hostRegisterSupported = p->memoryPoolsSupported = 1;
    p->canUseHostPointerForRegisteredMem = p->computePreemptionSupported = p->concurrentManagedAccess = 1;
    p->singleToDoublePrecisionPerfRatio = 2;
    p->maxTexture1D = 131072;
    p->maxTexture1DLinear = 1 << 28;
    p->maxTexture2D[0] = 131072, p->maxTexture2D[1] = 65536;
    p->maxTexture3D[0] = p->maxTexture3D[1] = p->maxTexture3D[2] = 16384;
    p->maxTexture1DLayered[0] = p->maxTexture2DLayered[0] = p->maxTexture2DLayered[1] = 32768;
    p->maxTexture1DLayered[1] = p->maxTexture2DLayered[2] = 2048;
    p->surfaceAlignment = 512;
    p->texturePitchAlignment = 32;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp p;
    if (cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
        case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
        case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
        case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
        case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
        case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
        case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
        case cudaDevAttrTotalConstantMemory: *value = static_cast<int>(p.totalConstMem); break;
        case cudaDevAttrWarpSize: *value = p.warpSize; break;
        case cudaDevAttrMaxPitch: *value = static_cast<int>(p.memPitch); break;
        case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
        case cudaDevAttrClockRate: *value = p.clockRate; break;
        case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
        case cudaDevAttrMemoryClockRate: *value = p.memoryClockRate; break;
        case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
        case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
        case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
        case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            *value = static_cast<int>(p.sharedMemPerMultiprocessor);
            break;
        case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerMultiprocessor; break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
        case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
        case cudaDevAttrTextureAlignment: *value = static_cast<int>(p.textureAlignment); break;
        case cudaDevAttrTexturePitchAlignment: *value = static_cast<int>(p.texturePitchAlignment); break;
        case cudaDevAttrSurfaceAlignment: *value = static_cast<int>(p.surfaceAlignment); break;
        case cudaDevAttrMaxTexture1DWidth: *value = p.maxTexture1D; break;
        case cudaDevAttrMaxTexture2DWidth: *value = p.maxTexture2D[0]; break;
        case cudaDevAttrMaxTexture2DHeight: *value = p.maxTexture2D[1]; break;
        case cudaDevAttrMaxTexture3DWidth:
        case cudaDevAttrMaxTexture3DHeight:
        case cudaDevAttrMaxTexture3DDepth: *value = p.maxTexture3D[0]; break;
        case cudaDevAttrAsyncEngineCount: *value = p.asyncEngineCount; break;
        case cudaDevAttrSingleToDoublePrecisionPerfRatio: *value = p.singleToDoublePrecisionPerfRatio; break;
        case cudaDevAttrReservedSharedMemoryPerBlock: *value = static_cast<int>(p.reservedSharedMemPerBlock); break;
        case cudaDevAttrGpuOverlap:
        case cudaDevAttrStreamPrioritiesSupported:
        case cudaDevAttrGlobalL1CacheSupported:
        case cudaDevAttrLocalL1CacheSupported:
        case cudaDevAttrCooperativeLaunch:
        case cudaDevAttrHostRegisterSupported:
        case cudaDevAttrMemoryPoolsSupported:
        case cudaDevAttrCanUseHostPointerForRegisteredMem:
        case cudaDevAttrComputePreemptionSupported:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrManagedMemory: *value = 1; break;
        default: *value = 0;
    }
    return cudaSuccess;
}

namespace emu::api {

cudaError_t set_attribute(const void* function, cudaFuncAttribute attribute, int value) {
    if (alive()) return alive();
    const Kernel* kernel = function ? kernel_of(function) : nullptr;
    if (!kernel) return device_error("cudaFuncSetAttribute", cudaErrorInvalidDeviceFunction, "no kernel");
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || static_cast<size_t>(value) > kSharedOptIn) {
        return device_error("cudaFuncSetAttribute", cudaErrorInvalidValue,
                      std::to_string(value) + " bytes of dynamic shared memory, where " + std::to_string(kSharedOptIn) +
                          " is the limit");
    }
    kernel_state(*kernel).dynamic_limit = static_cast<size_t>(value);
    return cudaSuccess;
}

cudaError_t attributes(cudaFuncAttributes* result, const void* function) {
    const Kernel* kernel = function ? kernel_of(function) : nullptr;
    if (!kernel) return device_error("cudaFuncGetAttributes", cudaErrorInvalidDeviceFunction, "no kernel");
    const KernelState& known = kernel_state(*kernel);
    *result = cudaFuncAttributes{};
    result->sharedSizeBytes = known.static_shared;
    result->maxThreadsPerBlock = 1024;
    result->numRegs = 32;  // not known here: few enough for a full multiprocessor
    result->ptxVersion = result->binaryVersion = 80;
    const size_t unasked = kSharedDefault - std::min(known.static_shared, kSharedDefault);
    result->maxDynamicSharedSizeBytes = static_cast<int>(known.dynamic_limit ? known.dynamic_limit : unasked);
    return cudaSuccess;
}

cudaError_t active_blocks(int* blocks, const void* function, int threads, size_t dynamic_shared) {
    const Kernel* kernel = function ? kernel_of(function) : nullptr;
    *blocks = 0;
    if (!kernel) return device_error("cudaOccupancy", cudaErrorInvalidDeviceFunction, "no kernel");
    if (threads <= 0) return device_error("cudaOccupancy", cudaErrorInvalidValue, "a block without threads");
    if (threads > 1024) return cudaSuccess;
    *blocks = static_cast<int>(resident_blocks(*kernel, static_cast<unsigned>(threads), dynamic_shared)) /
              kMultiprocessors;
    return cudaSuccess;
}

cudaError_t launch_untyped(const char* call, const void* function, dim3 grid, dim3 block, void** parameters,
                           size_t dynamic_shared, cudaStream_t stream, bool cooperative, const char* file, int line) {
    if (!has_own_main) {  // of an answer's kernel the parameters are known
        list_unsupported("a launch of a kernel known as void* only", Site{file, line});
        return device_error(call, cudaErrorNotSupported, "not supported on the emulated device");
    }
    if (alive()) return alive();
    const Untyped launch = untyped(function, parameters);
    if (!launch) return device_error(call, cudaErrorInvalidDeviceFunction, "no kernel");
    emu::configure(Index{grid.x, grid.y, grid.z}, Index{block.x, block.y, block.z}, dynamic_shared, stream);
    if (cooperative) configure_cooperative();
    launch();
    return cudaPeekAtLastError();
}

void configure(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, size_t dynamic_shared,
               cudaStream_t stream) {
    emu::configure(Index{gx, gy, gz}, Index{bx, by, bz}, dynamic_shared, stream);
}

void make_cooperative() { configure_cooperative(); }

}  // namespace emu::api
