// The lanes past the end have left; the others ask for their values.
#include <cuda_runtime.h>

__global__ void warp_sum(float* out, const float* x, int n) {
    int t = threadIdx.x;
    if (t >= n) {
        return;
    }
    float sum = x[t];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, offset);  // FAULT inactive_lane
    }
    if (t == 0) {
        *out = sum;
    }
}

int main() {
    const int n = 20;
    float *x, *out;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    warp_sum<<<1, 32>>>(out, x, n);
    cudaDeviceSynchronize();
}
