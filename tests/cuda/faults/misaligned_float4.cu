// Rows of 50 floats start at multiples of 200 bytes, and 200 is no multiple of 16.
#include <cuda_runtime.h>

__global__ void add_rows(float* sums, const float* x, int columns) {
    const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * columns);
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns / 4; c += blockDim.x) {
        float4 v = row[c];  // FAULT misaligned
        sum += v.x + v.y + v.z + v.w;
    }
    atomicAdd(&sums[blockIdx.x], sum);
}

int main() {
    const int rows = 4, columns = 50;
    float *x, *sums;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&sums, rows * sizeof(float));
    cudaMemset(x, 0, rows * columns * sizeof(float));
    cudaMemset(sums, 0, rows * sizeof(float));
    add_rows<<<rows, 32>>>(sums, x, columns);
    cudaDeviceSynchronize();
}
