// Every thread stores a pair of halves at its own index, not at twice its index: neighbours share a half word.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

struct Pair {
    __half first, second;
};

__global__ void pairs(__half* out) {
    __shared__ __half row[130];
    int t = threadIdx.x;
    Pair* mine = reinterpret_cast<Pair*>(row + t);
    mine->second = __float2half(float(-t));
    mine->first = __float2half(float(t));  // FAULT shared_race
    __syncthreads();
    out[t] = row[t];
}

int main() {
    __half* out;
    cudaMalloc(&out, 128 * sizeof(__half));
    pairs<<<1, 128>>>(out);
    cudaDeviceSynchronize();
}
