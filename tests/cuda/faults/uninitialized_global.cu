// The output is accumulated into and never set to zero.
#include <cuda_runtime.h>

__global__ void accumulate(float* sum, const float* x) {
    int i = threadIdx.x;
    float before = sum[i];  // FAULT uninitialized_read
    sum[i] = before + x[i];
}

int main() {
    float *x, *sum;
    cudaMalloc(&x, 128 * sizeof(float));
    cudaMalloc(&sum, 128 * sizeof(float));
    cudaMemset(x, 0, 128 * sizeof(float));
    accumulate<<<1, 128>>>(sum, x);
    cudaDeviceSynchronize();
}
