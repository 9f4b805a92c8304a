// The kernel gets the host's copy instead of the device's.
#include <cuda_runtime.h>
#include <vector>

__global__ void add(float* y, const float* x) {
    int i = threadIdx.x;
    y[i] += x[i];  // FAULT host_pointer_in_kernel
}

int main() {
    std::vector<float> x(128, 1.0f);
    float* y;
    cudaMalloc(&y, 128 * sizeof(float));
    cudaMemset(y, 0, 128 * sizeof(float));
    add<<<1, 128>>>(y, x.data());
    cudaDeviceSynchronize();
}
