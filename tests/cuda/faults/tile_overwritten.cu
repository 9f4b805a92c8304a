// Tiles go through one shared buffer, and nobody waits for its readers before loading the next.
#include <cuda_runtime.h>

__global__ void tiled(float* out, const float* x, int tiles) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < tiles; ++i) {
        tile[t] = x[i * 128 + t];  // FAULT shared_race
        __syncthreads();
        sum += tile[127 - t];  // FAULT shared_race
    }
    out[t] = sum;
}

int main() {
    const int tiles = 4;
    float *x, *out, values[128 * tiles];
    for (int i = 0; i < 128 * tiles; ++i) {
        values[i] = float(i % 101);
    }
    cudaMalloc(&x, sizeof(values));
    cudaMalloc(&out, 128 * sizeof(float));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    tiled<<<1, 128>>>(out, x, tiles);
    cudaDeviceSynchronize();
}
