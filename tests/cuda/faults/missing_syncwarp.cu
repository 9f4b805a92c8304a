// The last steps of a reduction rely on a warp running in step, which it does not since Volta.
#include <cuda_runtime.h>

__global__ void sum(float* out, const float* x) {
    __shared__ volatile float partial[64];
    int t = threadIdx.x;
    partial[t] = x[t];
    __syncthreads();
    if (t < 32) {
        partial[t] = partial[t] + partial[t + 32];
    }
    if (t < 16) {
        out[t] = partial[t] + partial[t + 16];  // FAULT shared_race
    }
}

int main() {
    float *x, *out, values[64];
    for (int i = 0; i < 64; ++i) {
        values[i] = float(i);
    }
    cudaMalloc(&x, sizeof(values));
    cudaMalloc(&out, 16 * sizeof(float));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    sum<<<1, 64>>>(out, x);
    cudaDeviceSynchronize();
}
