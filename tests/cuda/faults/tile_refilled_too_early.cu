// The next row is copied while others still read this one.
#include <cuda/barrier>
#include <cuda_runtime.h>
#include <utility>

__global__ void sums(const float* in, float* out, int rows) {
    __shared__ cuda::barrier<cuda::thread_scope_block> filled;
    __shared__ float tile[64];
    if (threadIdx.x == 0) {
        init(&filled, blockDim.x);
    }
    __syncthreads();
    for (int row = 0; row < rows; ++row) {
        cuda::memcpy_async(&tile[threadIdx.x], &in[row * 64 + threadIdx.x], sizeof(float), filled);  // FAULT shared_race
        auto token = filled.arrive();
        filled.wait(std::move(token));
        const float next = tile[(threadIdx.x + 1) % 64];  // FAULT shared_race
        atomicAdd(&out[row], next);
    }
}

int main() {
    float host[5 * 64] = {}, *in, *out;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, 5 * sizeof(float));
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, 5 * sizeof(float));
    sums<<<1, 64>>>(in, out, 5);
    cudaDeviceSynchronize();
    cudaFree(in);
    cudaFree(out);
}
