// Each kernel goes past the end of a buffer through one of CUDA's own functions or types: the line is the author's.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

struct alignas(16) Packed {
    float values[4];
};

__device__ float helper(const float* x, int i) {
    return __ldg(x + i);  // FAULT
}
__global__ void by_ldg(float* x, int n) {
    x[0] = helper(x, n);
}
__global__ void by_ldcs_of_vector(float* x, int n) {
    const float4 v = __ldcs(reinterpret_cast<const float4*>(x) + n / 4);  // FAULT
    x[0] = v.x + v.w;
}
__global__ void by_stcs(float* x, int n) {
    __stcs(x + n, 1.0f);  // FAULT
}
__global__ void by_vector_store(float* x, int n) {
    reinterpret_cast<float4*>(x)[n / 4] = make_float4(1, 2, 3, 4);  // FAULT
}
__global__ void by_own_struct(float* x, int n) {
    const Packed p = reinterpret_cast<const Packed*>(x)[n / 4];  // FAULT
    x[1] = p.values[0] + p.values[3];
}
__global__ void by_half2(float* x, int n) {
    const half2 pair = reinterpret_cast<half2*>(x)[n];  // FAULT
    x[2] = __low2float(pair);
}
__global__ void by_bfloat162_sum(float* x, int n) {
    __nv_bfloat162* pairs = reinterpret_cast<__nv_bfloat162*>(x);
    pairs[n] = __hadd2(pairs[0], pairs[1]);  // FAULT
}
__global__ void by_atomic(float* x, int n) {
    atomicAdd(&x[n], 1.0f);  // FAULT
}
__global__ void by_exchange(float* x, int n) {
    const int old = atomicCAS(reinterpret_cast<int*>(x) + n, 0, 1);  // FAULT
    x[3] = old;
}

int main() {
    const int n = 64;
    float* x;
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    by_ldg<<<1, 1>>>(x, n);
    by_ldcs_of_vector<<<1, 1>>>(x, n);
    by_stcs<<<1, 1>>>(x, n);
    by_vector_store<<<1, 1>>>(x, n);
    by_own_struct<<<1, 1>>>(x, n);
    by_half2<<<1, 1>>>(x, n);
    by_bfloat162_sum<<<1, 1>>>(x, n);
    by_atomic<<<1, 1>>>(x, n);
    by_exchange<<<1, 1>>>(x, n);
    cudaDeviceSynchronize();
    cudaFree(x);
    return 0;
}
