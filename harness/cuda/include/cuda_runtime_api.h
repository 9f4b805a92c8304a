// The host's API of the emulated device: memory, copies, streams, events and questions about the device.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "cuda_errors.h"
#include "cuda_device_types.h"
#include "cuda_graph_types.h"
#include "cuda_texture_types.h"

// what programs ask for to know that these headers were included
#define __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__

#define CUDART_VERSION 12080
#define CUDART_CB

// NOLINTBEGIN: the names are CUDA's
extern "C" {

// ---- errors
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// ---- the device
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer);
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text);
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties);
cudaError_t cudaGetDeviceFlags(unsigned* flags);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config);
cudaError_t cudaCtxResetPersistingL2Cache();
cudaError_t cudaThreadSynchronize();
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();

// ---- memory
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

// ---- copies and fills
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* pointer, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device);

// ---- streams and events: work is done at once, in the order in which it is put on any stream
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes = 0, unsigned flags = cudaMemAttachSingle);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value);
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue* value);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
/// 0 milliseconds: the emulated device has no clock. That it was asked is in the report.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

}  // extern "C"

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags);

namespace emu::api {

cudaError_t allocate(void** pointer, size_t bytes, const char* call);
cudaError_t allocate_managed(void** pointer, size_t bytes);
cudaError_t allocate_host(void** pointer, size_t bytes, const char* call);
cudaError_t allocate_pitch(void** pointer, size_t* pitch, size_t width, size_t height);
cudaError_t device_pointer(void** device, void* host);
cudaError_t copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                           cudaStream_t stream, bool synchronous);
cudaError_t copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream, bool synchronous);
cudaError_t symbol_address(void** pointer, const void* symbol);
cudaError_t symbol_size(size_t* bytes, const void* symbol);

cudaError_t set_attribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t attributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t active_blocks(int* blocks, const void* function, int threads, size_t dynamic_shared);
/// A launch of a kernel whose parameters' types are not known where it is launched.
cudaError_t launch_untyped(const char* call, const void* function, dim3 grid, dim3 block, void** parameters,
                           size_t dynamic_shared, cudaStream_t stream, bool cooperative, const char* file, int line);
void configure(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, size_t dynamic_shared,
               cudaStream_t stream);
void make_cooperative();

template <class F>
const void* pointer_to(F* function) { return reinterpret_cast<const void*>(function); }

template <class... P, size_t... I>
void call(void (*kernel)(P...), void** parameters, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<P>*>(parameters[I])...);
}

}  // namespace emu::api

// ---- the calls that know a type

template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return emu::api::allocate(reinterpret_cast<void**>(pointer), bytes, "cudaMalloc");
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream) {
    if (emu::api::captures(stream)) return emu::api::no_memory_nodes("cudaMallocAsync");
    return emu::api::allocate(reinterpret_cast<void**>(pointer), bytes, "cudaMallocAsync");
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaMemPool_t, cudaStream_t) {
    return emu::api::allocate(reinterpret_cast<void**>(pointer), bytes, "cudaMallocAsync");
}
template <class T>
cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t bytes, cudaMemPool_t, cudaStream_t) {
    return emu::api::allocate(reinterpret_cast<void**>(pointer), bytes, "cudaMallocFromPoolAsync");
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned = cudaMemAttachGlobal) {
    return emu::api::allocate_managed(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned = 0) {
    return emu::api::allocate_host(reinterpret_cast<void**>(pointer), bytes, "cudaMallocHost");
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned) {
    return emu::api::allocate_host(reinterpret_cast<void**>(pointer), bytes, "cudaHostAlloc");
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned = 0) {
    return emu::api::device_pointer(reinterpret_cast<void**>(device), host);
}
template <class T>
cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
    return emu::api::allocate_pitch(reinterpret_cast<void**>(pointer), pitch, width, height);
}

template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return emu::api::copy_to_symbol(&symbol, from, bytes, offset, kind, nullptr, true);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr) {
    return emu::api::copy_to_symbol(&symbol, from, bytes, offset, kind, stream, false);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return emu::api::copy_from_symbol(to, &symbol, bytes, offset, kind, nullptr, true);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr) {
    return emu::api::copy_from_symbol(to, &symbol, bytes, offset, kind, stream, false);
}
template <class T, class S>
cudaError_t cudaGetSymbolAddress(T** pointer, const S& symbol) {
    return emu::api::symbol_address(reinterpret_cast<void**>(pointer), &symbol);
}
template <class S>
cudaError_t cudaGetSymbolSize(size_t* bytes, const S& symbol) {
    return emu::api::symbol_size(bytes, &symbol);
}

template <class F>
cudaError_t cudaFuncSetAttribute(F* function, cudaFuncAttribute attribute, int value) {
    return emu::api::set_attribute(emu::api::pointer_to(function), attribute, value);
}
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, F* function) {
    return emu::api::attributes(attributes, emu::api::pointer_to(function));
}
template <class F>
cudaError_t cudaFuncSetCacheConfig(F*, cudaFuncCache) { return cudaSuccess; }
template <class F>
cudaError_t cudaFuncSetSharedMemConfig(F*, cudaSharedMemConfig) { return cudaSuccess; }
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F* function, int threads,
                                                          size_t dynamic_shared) {
    return emu::api::active_blocks(blocks, emu::api::pointer_to(function), threads, dynamic_shared);
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F* function, int threads,
                                                                   size_t dynamic_shared, unsigned) {
    return emu::api::active_blocks(blocks, emu::api::pointer_to(function), threads, dynamic_shared);
}
/// The largest block: registers are not known here.
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F* function, size_t dynamic_shared = 0,
                                               int limit = 0) {
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    int blocks = 0;
    cudaError_t error = emu::api::active_blocks(&blocks, emu::api::pointer_to(function), *block, dynamic_shared);
    *grid = blocks * 108;
    return error;
}

template <class F, class Bytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, F* function, Bytes bytes,
                                                           int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSize(grid, block, function, bytes(limit > 0 && limit < 1024 ? limit : 1024),
                                              limit);
}

template <class Dim, class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), Dim grid, Dim block, void** parameters, size_t dynamic_shared = 0,
                             cudaStream_t stream = nullptr) {
    emu::api::configure(grid.x, grid.y, grid.z, block.x, block.y, block.z, dynamic_shared, stream);
    emu::api::call(kernel, parameters, std::index_sequence_for<P...>{});
    return cudaPeekAtLastError();
}
template <class Dim>
cudaError_t cudaLaunchKernel(const void* function, Dim grid, Dim block, void** parameters, size_t dynamic_shared = 0,
                             cudaStream_t stream = nullptr, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
    return emu::api::launch_untyped("cudaLaunchKernel", function, grid, block, parameters, dynamic_shared, stream,
                                    false, file, line);
}
/// A launch whose blocks may wait for each other.
template <class Dim, class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), Dim grid, Dim block, void** parameters,
                                        size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
    emu::api::configure(grid.x, grid.y, grid.z, block.x, block.y, block.z, dynamic_shared, stream);
    emu::api::make_cooperative();
    emu::api::call(kernel, parameters, std::index_sequence_for<P...>{});
    return cudaPeekAtLastError();
}
template <class Dim>
cudaError_t cudaLaunchCooperativeKernel(const void* function, Dim grid, Dim block, void** parameters,
                                        size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return emu::api::launch_untyped("cudaLaunchCooperativeKernel", function, grid, block, parameters, dynamic_shared,
                                    stream, true, file, line);
}
// NOLINTEND
