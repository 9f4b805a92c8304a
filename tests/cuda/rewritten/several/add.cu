#include "kernels/scale.cuh"
#define FACTOR_OF_THIS 1.f

__global__ void increment(float* x, int n) {
    staging[threadIdx.x] = FACTOR_OF_THIS;
    if (threadIdx.x < n) x[threadIdx.x] += staging[threadIdx.x] + FACTOR;
}

void add_one(float* x, int n) {
    increment<<<1, 32, 32 * sizeof(float)>>>(x, n);
}
