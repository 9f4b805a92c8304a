// All blocks of a cooperative launch wait for each other, twice, with values in registers and shared memory kept.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void normalise(float* values, double* parts, int n) {
    __shared__ double mine[64];
    const cg::grid_group grid = cg::this_grid();
    double sum = 0;
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) sum += values[i];
    mine[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        double all = 0;
        for (int i = 0; i < blockDim.x; ++i) all += mine[i];
        parts[blockIdx.x] = all;
    }
    grid.sync();
    if (grid.thread_rank() == 0) {
        for (int b = 1; b < gridDim.x; ++b) parts[0] += parts[b];
    }
    cg::sync(grid);
    const float total = static_cast<float>(parts[0]);
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) values[i] /= total;
    if (mine[threadIdx.x] != sum) values[0] = -1;
}

int main() {
    const int n = 10000;
    float host[n], *values;
    double* parts;
    for (int i = 0; i < n; ++i) host[i] = 2.0f;
    int blocks = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, normalise, 64, 0);
    if (blocks < 1) return 2;
    cudaMalloc(&values, sizeof host);
    cudaMalloc(&parts, 16 * sizeof(double));
    cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
    int size = n;
    void* arguments[] = {&values, &parts, &size};
    if (cudaLaunchCooperativeKernel((void*)normalise, dim3(16), dim3(64), arguments, 0, 0)) return 3;
    cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (float value : host) wrong += value != 2.0f / (2.0f * n);
    cudaFree(values);
    cudaFree(parts);
    return wrong != 0;
}
