// Product of two square matrices in tiles of 16 and of 32; prints the processor seconds of the fastest launch of each.
//     tiled_product SIZE LAUNCHES
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

template <int Tile>
__global__ void product(float* out, const float* a, const float* b, int n) {
    __shared__ float rows[Tile][Tile], columns[Tile][Tile];
    int row = blockIdx.y * Tile + threadIdx.y, column = blockIdx.x * Tile + threadIdx.x;
    float sum = 0.0f;
    for (int from = 0; from < n; from += Tile) {
        rows[threadIdx.y][threadIdx.x] = a[row * n + from + threadIdx.x];
        columns[threadIdx.y][threadIdx.x] = b[(from + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < Tile; ++k) {
            sum += rows[threadIdx.y][k] * columns[k][threadIdx.x];
        }
        __syncthreads();
    }
    out[row * n + column] = sum;
}

template <int Tile>
void measure(float* out, const float* a, const float* b, int n, int launches) {
    double fastest = 1e9;
    for (int i = 0; i < launches; ++i) {
        clock_t start = clock();
        product<Tile><<<dim3(n / Tile, n / Tile), dim3(Tile, Tile)>>>(out, a, b, n);
        cudaDeviceSynchronize();
        double seconds = double(clock() - start) / CLOCKS_PER_SEC;
        fastest = seconds < fastest ? seconds : fastest;
    }
    std::printf("%.9f\n", fastest);
}

int main(int, char** words) {
    int n = std::atoi(words[1]), launches = std::atoi(words[2]);
    size_t bytes = size_t(n) * n * sizeof(float);
    std::vector<float> values(size_t(n) * n);
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = float(i * 7919 % 1024) / 1024.0f;
    }
    float *a, *b, *out;
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMalloc(&out, bytes);
    cudaMemcpy(a, values.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b, values.data(), bytes, cudaMemcpyHostToDevice);
    measure<16>(out, a, b, n, launches);
    measure<32>(out, a, b, n, launches);
    return cudaGetLastError();
}
