// CUDA inside macros; main returns the number of the first one that went wrong.
#include <stdio.h>
#include <stdlib.h>
#define GLOBAL_INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define GRID_STRIDE(i, n) for (int i = GLOBAL_INDEX; i < (n); i += gridDim.x * blockDim.x)
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define CHECK(call) \
    do { \
        cudaError_t status = (call); \
        if (status != cudaSuccess) { \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            exit(100); \
        } \
    } while (0)
#define LAUNCH(kernel, n, ...) \
    do { \
        kernel<<<CEIL_DIV(n, 32), \
                 32>>>(__VA_ARGS__); \
        CHECK(cudaGetLastError()); \
    } while (0)
#define DEFINE_UNARY(name, expression)                       \
    __global__ void name##_kernel(float* x, int n) {         \
        __shared__ float name##_cache[32];                   \
        GRID_STRIDE(i, n) {                                  \
            float v = x[i];                                  \
            name##_cache[threadIdx.x] = (expression);        \
            x[i] = name##_cache[threadIdx.x];                \
        }                                                    \
    }                                                        \
    void name(float* x, int n) { LAUNCH(name##_kernel, n, x, n); }
#define SHARED(type, name, size) __shared__ type name[size]
#define DISPATCH(TYPE, ...) { using scalar_t = TYPE; __VA_ARGS__; }
#if defined(__CUDACC__)
#define DEVICE __device__
#else
#define DEVICE
#endif
#ifdef __CUDA_ARCH__
#error "this is host code"
#endif

DEFINE_UNARY(square, v * v)
DEFINE_UNARY(increment, v + 1)

DEVICE int architecture() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __CUDA_ARCH__;
#else
    return 0;
#endif
}
int host_architecture() {
#ifdef __CUDA_ARCH__
    return 1;
#else
    return 0;
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
template <class T>
__global__ void reversed(T* x, int* seen) {
    SHARED(T, copy, 64);
    copy[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
    if (threadIdx.x == 0) *seen = architecture();
}
#endif

int main() {
    float *x, h[64];
    int *seen, s;
    CHECK(cudaMalloc(&x, sizeof(h)));
    CHECK(cudaMalloc(&seen, sizeof(s)));
    for (int i = 0; i < 64; i++) h[i] = i;
    CHECK(cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice));
    square(x, 64);
    increment(x, 64);
    DISPATCH(float, reversed<scalar_t><<<1, 64>>>(x, seen));
    CHECK((reversed<float><<<1, 64>>>(x, seen), cudaGetLastError()));
    CHECK(cudaMemcpy(h, x, sizeof(h), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&s, seen, sizeof(s), cudaMemcpyDeviceToHost));
    if (h[3] != 10 || h[63] != 63 * 63 + 1) return 1;
    return s == 800 && !host_architecture() ? 0 : 2;
}
