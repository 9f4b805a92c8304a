// Tiles of 16 x 16; while one pair is multiplied, the next is loaded into the other buffer.
#include "device.h"

constexpr int T = 16;

__global__ void matmul(float* c, const float* a, const float* b, int M, int N, int K) {
    __shared__ float as[2][T][T], bs[2][T][T + 1];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x, y = threadIdx.y, x = threadIdx.x;
    auto load = [&](int buffer, int k) {
        as[buffer][y][x] = row < M && k + x < K ? a[row * K + k + x] : 0.0f;
        bs[buffer][y][x] = column < N && k + y < K ? b[(k + y) * N + column] : 0.0f;
    };
    float sum = 0.0f;
    int current = 0;
    load(current, 0);
    __syncthreads();
    for (int k = 0; k < K; k += T) {
        if (k + T < K) {
            load(1 - current, k + T);
        }
#pragma unroll
        for (int i = 0; i < T; ++i) {
            sum += as[current][y][i] * bs[current][i][x];
        }
        __syncthreads();
        current = 1 - current;
    }
    if (row < M && column < N) {
        c[row * N + column] = sum;
    }
}

int main() {
    const int M = 37, N = 25, K = 50;
    std::vector<float> a = noise(M * K), b = noise(K * N, 2);
    std::vector<double> right(M * N);
    for (int i = 0; i < M * N; ++i) {
        for (int k = 0; k < K; ++k) {
            right[i] += double(a[i / N * K + k]) * b[k * N + i % N];
        }
    }
    Buffer<float> da(a), db(b), dc(M * N);
    matmul<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(dc, da, db, M, N, K);
    return compare(dc.host(), right, 1e-4);
}
