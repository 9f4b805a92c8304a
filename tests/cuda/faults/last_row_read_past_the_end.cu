// A warp walks its row one element too far: invisible on every row but the last.
#include <cuda_runtime.h>

__global__ void row_sums(float* sums, const float* x, int columns) {
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f;
    for (int c = threadIdx.x; c <= columns; c += 32) {
        sum += row[c];  // FAULT out_of_bounds
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}

int main() {
    const int rows = 4, columns = 100;
    float *x, *sums;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&sums, rows * sizeof(float));
    cudaMemset(x, 0, rows * columns * sizeof(float));
    row_sums<<<rows, 32>>>(sums, x, columns);
    cudaDeviceSynchronize();
}
