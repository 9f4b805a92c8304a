// Host and device use the same pointers, in turn.
#include "device.h"

__global__ void square(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= x[i];
    }
}

int main() {
    const int n = 200;
    float* x;
    must(cudaMallocManaged(&x, n * sizeof(float)), "cudaMallocManaged");
    for (int i = 0; i < n; ++i) {
        x[i] = float(i);
    }
    square<<<2, 128>>>(x, n);
    must(cudaDeviceSynchronize(), "square");
    std::vector<float> got(x, x + n), right(n);
    for (int i = 0; i < n; ++i) {
        right[i] = float(i) * i;
    }
    cudaFree(x);
    return compare(got, right, 0.0);
}
