// The last block sums what the others wrote, but nobody made those writes visible before counting itself in.
#include <cuda_runtime.h>

__global__ void total(float* out, float* partial, unsigned* done, const float* x) {
    __shared__ bool last;
    float sum = x[blockIdx.x * 32 + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;  // FAULT global_race
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float all = 0.0f;
        for (unsigned b = 0; b < gridDim.x; ++b) {
            all += partial[b];  // FAULT global_race
        }
        *out = all;
    }
}

int main() {
    const int blocks = 8;
    float *x, *out, *partial, values[32 * blocks];
    unsigned* done;
    for (int i = 0; i < 32 * blocks; ++i) {
        values[i] = float(i);
    }
    cudaMalloc(&x, sizeof(values));
    cudaMalloc(&out, sizeof(float));
    cudaMalloc(&partial, blocks * sizeof(float));
    cudaMalloc(&done, sizeof(unsigned));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    cudaMemset(done, 0, sizeof(unsigned));
    total<<<blocks, 32>>>(out, partial, done, x);
    cudaDeviceSynchronize();
}
