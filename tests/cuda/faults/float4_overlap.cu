// Vectors of four floats are stored at steps of two: each overlaps its neighbour's.
#include <cuda_runtime.h>

__global__ void spread(float* y, const float* x) {
    int t = threadIdx.x;
    float a = x[t];
    float2* half = reinterpret_cast<float2*>(y + 2 * t);
    half[0] = make_float2(a, a);
    half[1] = make_float2(a, a);  // FAULT global_race
}

int main() {
    float *x, *y, values[64];
    for (int i = 0; i < 64; ++i) {
        values[i] = float(i);
    }
    cudaMalloc(&x, sizeof(values));
    cudaMalloc(&y, 2 * 66 * sizeof(float));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    spread<<<1, 64>>>(y, x);
    cudaDeviceSynchronize();
}
