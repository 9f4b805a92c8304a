// More blocks than fit on the device wait for each other.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

__global__ void meet(int* out) {
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0 && blockIdx.x == 0) *out = 1;
}

int main() {
    int* out;
    cudaMalloc(&out, sizeof(int));
    void* arguments[] = {&out};
    cudaLaunchCooperativeKernel((void*)meet, dim3(100000), dim3(256), arguments, 0, 0);  // FAULT invalid_launch
    cudaDeviceSynchronize();
    cudaFree(out);
}
