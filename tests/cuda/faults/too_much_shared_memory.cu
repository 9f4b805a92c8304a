// 64 KiB of dynamic shared memory have to be asked for, and were not.
#include <cuda_runtime.h>

__global__ void stage(float* x) {
    extern __shared__ float staged[];
    staged[threadIdx.x] = 1.0f;
    x[threadIdx.x] = staged[threadIdx.x];
}

int main() {
    float* x;
    cudaMalloc(&x, 64 * sizeof(float));
    stage<<<1, 64, 64 << 10>>>(x);  // FAULT invalid_launch
    cudaDeviceSynchronize();
}
