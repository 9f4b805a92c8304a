// The copy takes a count of bytes for a count of floats.
#include <cuda_runtime.h>
#include <vector>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }

int main() {
    std::vector<float> host(4 * 64);
    float* x;
    cudaMalloc(&x, 64 * sizeof(float));
    fill<<<1, 64>>>(x);
    cudaMemcpy(host.data(), x, host.size() * sizeof(float), cudaMemcpyDeviceToHost);  // FAULT out_of_bounds
}
