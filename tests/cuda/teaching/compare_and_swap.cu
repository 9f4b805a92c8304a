// Atomics that the device lacks, made of compare-and-swap: the first look at the value is a plain read, and a guess.
#include "common.h"

__device__ double add(double* address, double value) {
    unsigned long long* word = reinterpret_cast<unsigned long long*>(address);
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__device__ float maximum(float* address, float value) {
    int* word = reinterpret_cast<int*>(address);
    int old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

__global__ void sum_and_maximum(const float* x, int n, double* sum, float* most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float value = x[i];
    add(sum, value);
    maximum(most, value);
}

int main() {
    const int n = 200;
    std::vector<float> values(n);
    for (int i = 0; i < n; i++) values[i] = static_cast<float>(i * 37 % n);
    Buffer<float> x(values), most(std::vector<float>{0.0f});
    Buffer<double> sum(std::vector<double>{0.0});
    sum_and_maximum<<<4, 64>>>(x.device, n, sum.device, most.device);
    validate("sum", sum.host(), {n * (n - 1) / 2.0f}, 0.0f);
    validate("maximum", most.host(), {n - 1.0f}, 0.0f);
    return failures;
}
