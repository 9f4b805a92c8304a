// Source and destination were exchanged and the direction was not.
#include <cuda_runtime.h>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }

int main() {
    float host[64] = {};
    float* x;
    cudaMalloc(&x, sizeof(host));
    fill<<<1, 64>>>(x);
    cudaMemcpy(x, host, sizeof(host), cudaMemcpyDeviceToHost);  // FAULT device_pointer_on_host
}
