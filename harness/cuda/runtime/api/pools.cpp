// Memory pools: all of them are the one arena, and what is put on a stream is done at once.
#include <cstdint>
#include <cstring>

#include "cuda_runtime_api.h"
#include "memory/memory.h"
#include "run/state.h"

struct CUmemPoolHandle_st {
    uint64_t release_threshold;
    bool destroyed;
};

namespace {

CUmemPoolHandle_st default_pool{0, false};

cudaError_t usable(const char* call, cudaMemPool_t pool) {
    if (emu::state().sticky_error) return static_cast<cudaError_t>(emu::state().sticky_error);
    if (pool && !pool->destroyed) return cudaSuccess;
    return static_cast<cudaError_t>(emu::fail(call, cudaErrorInvalidValue, "the pool does not exist"));
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    *pool = &default_pool;
    if (device == 0) return cudaSuccess;
    return static_cast<cudaError_t>(
        emu::fail("cudaDeviceGetDefaultMemPool", cudaErrorInvalidDevice, "there is one device, number 0"));
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t pool) { return usable("cudaDeviceSetMemPool", pool); }
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
    *pool = new CUmemPoolHandle_st{0, false};
    return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    if (cudaError_t error = usable("cudaMemPoolDestroy", pool)) return error;
    pool->destroyed = true;  // kept: its address stays its own
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    if (cudaError_t error = usable("cudaMemPoolSetAttribute", pool)) return error;
    if (attribute == cudaMemPoolAttrReleaseThreshold) std::memcpy(&pool->release_threshold, value, sizeof(uint64_t));
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    if (cudaError_t error = usable("cudaMemPoolGetAttribute", pool)) return error;
    const bool peak = attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh;
    uint64_t figure = peak ? emu::state().peak_bytes : emu::state().bytes_in_use;
    if (attribute == cudaMemPoolAttrReleaseThreshold) figure = pool->release_threshold;
    const int on = 1;
    if (attribute < cudaMemPoolAttrReleaseThreshold) std::memcpy(value, &on, sizeof on);
    else std::memcpy(value, &figure, sizeof figure);
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) { return usable("cudaMemPoolTrimTo", pool); }
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc*, size_t) {
    return usable("cudaMemPoolSetAccess", pool);
}
