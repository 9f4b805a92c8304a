#pragma once
#include "../common.h"

extern __shared__ float staging[];

template <class T>
__global__ void scale(T* x, T by) {
    staging[threadIdx.x] = x[threadIdx.x] * by;
    __syncthreads();
    x[threadIdx.x] = staging[threadIdx.x];
}
__global__ void increment(float* x, int n);
