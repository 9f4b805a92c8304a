// A program of several files; main returns the number of the first check that went wrong.
#include "kernels/scale.cuh"
#include "math.h"
#include <cstddef>

void add_one(float* x, int n);

int main() {
    float *x, h[8];
    cudaMalloc(&x, sizeof(h));
    for (int i = 0; i < 8; i++) h[i] = i;
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    scale<float><<<1, 8, 8 * sizeof(float)>>>(x, 2.f);
    add_one(x, 8);
    cudaMemcpy(h, x, sizeof(h), cudaMemcpyDeviceToHost);
    return fabsf(h[7] - 16 * FACTOR) < 1e-6f ? 0 : 1;
}
