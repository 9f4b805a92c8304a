// All blocks of a cooperative launch wait for each other.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

__global__ void sum_of_blocks(int* parts, int* out) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    if (threadIdx.x == 0) parts[blockIdx.x] = 1;
    grid.sync();
    if (grid.thread_rank() == 0) *out = parts[0] + parts[1];
}

int main() {
    int *parts, *out;
    cudaMalloc(&parts, 2 * sizeof(int));
    cudaMalloc(&out, sizeof(int));
    void* arguments[] = {&parts, &out};
    cudaLaunchCooperativeKernel((void*)sum_of_blocks, dim3(2), dim3(32), arguments, 0, 0);
    cudaDeviceSynchronize();
}
