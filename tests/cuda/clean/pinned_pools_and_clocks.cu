// Host memory that is registered, memory of a pool, and a kernel that waits for a time.
#include <cstdint>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void doubled(const int* in, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}

__global__ void wait(clock_t ticks, long long* waited) {
    const clock_t start = clock();
    const long long then = clock64();
    while (clock() - start < ticks) {
    }
    *waited = clock64() - then;
}

int main() {
    const int n = 100;
    int* host = static_cast<int*>(std::malloc(n * sizeof(int)));
    int *mapped, *pooled, got[n];
    for (int i = 0; i < n; ++i) host[i] = i;
    if (cudaHostRegister(host, n * sizeof(int), cudaHostRegisterMapped)) return 2;
    if (cudaHostGetDevicePointer(&mapped, host, 0)) return 3;
    cudaMemPool_t pool;
    uint64_t kept = UINT64_MAX;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    if (cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept)) return 4;
    if (cudaMallocAsync(&pooled, n * sizeof(int), pool, nullptr)) return 5;
    doubled<<<2, 64>>>(mapped, pooled, n);
    cudaMemcpy(got, pooled, sizeof got, cudaMemcpyDeviceToHost);
    cudaFreeAsync(pooled, nullptr);
    if (cudaHostUnregister(host)) return 6;
    std::free(host);
    long long* waited;
    cudaMallocManaged(&waited, sizeof *waited);
    wait<<<1, 1>>>(100000, waited);
    cudaDeviceSynchronize();
    int wrong = *waited < 100000;
    for (int i = 0; i < n; ++i) wrong += got[i] != 2 * i;
    cudaFree(waited);
    return wrong != 0;
}
