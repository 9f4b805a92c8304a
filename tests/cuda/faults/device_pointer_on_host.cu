// The host looks at the result without copying it.
#include <cuda_runtime.h>
#include <cstdio>

__global__ void fill(float* x) { x[threadIdx.x] = threadIdx.x; }

int main() {
    float* x;
    cudaMalloc(&x, 64 * sizeof(float));
    fill<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    float seventh = x[7];  // FAULT device_pointer_on_host
    printf("%f\n", seventh);
}
