// A tree reduction in shared memory without the barrier between its steps.
#include <cuda_runtime.h>

__global__ void sum(float* out, const float* x) {
    __shared__ float partial[256];
    int t = threadIdx.x;
    partial[t] = x[t];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) {
            partial[t] += partial[t + half];  // FAULT shared_race
        }
    }
    if (t == 0) {
        *out = partial[0];
    }
}

int main() {
    float *x, *out, ones[256];
    for (int i = 0; i < 256; ++i) {
        ones[i] = 1.0f + i;
    }
    cudaMalloc(&x, sizeof(ones));
    cudaMalloc(&out, sizeof(float));
    cudaMemcpy(x, ones, sizeof(ones), cudaMemcpyHostToDevice);
    sum<<<1, 256>>>(out, x);
    cudaDeviceSynchronize();
}
