// The eight largest of a row: every thread keeps a sorted list, and lists are merged pairwise in shared memory.
#include <algorithm>

#include "device.h"

constexpr int K = 8, THREADS = 64;

__device__ void insert(float* list, float value) {
    for (int i = 0; i < K; ++i) {
        if (value > list[i]) {
            float down = list[i];
            list[i] = value;
            value = down;
        }
    }
}

__global__ void top_k(float* out, const float* x, int columns) {
    __shared__ float lists[THREADS][K + 1];
    int t = threadIdx.x;
    float mine[K];
    for (int i = 0; i < K; ++i) {
        mine[i] = -INFINITY;
    }
    for (int c = t; c < columns; c += THREADS) {
        insert(mine, x[blockIdx.x * columns + c]);
    }
    for (int i = 0; i < K; ++i) {
        lists[t][i] = mine[i];
    }
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) {
            float merged[K];
            int a = 0, b = 0;
            for (int i = 0; i < K; ++i) {
                merged[i] = lists[t][a] >= lists[t + half][b] ? lists[t][a++] : lists[t + half][b++];
            }
            for (int i = 0; i < K; ++i) {
                lists[t][i] = merged[i];
            }
        }
    }
    __syncthreads();
    if (t < K) {
        out[blockIdx.x * K + t] = lists[0][t];
    }
}

int main() {
    const int rows = 3, columns = 333;
    std::vector<float> x = noise(rows * columns), right;
    for (int r = 0; r < rows; ++r) {
        std::vector<float> row(x.begin() + r * columns, x.begin() + (r + 1) * columns);
        std::sort(row.rbegin(), row.rend());
        right.insert(right.end(), row.begin(), row.begin() + K);
    }
    Buffer<float> input(x), out(rows * K);
    top_k<<<rows, THREADS>>>(out, input, columns);
    return compare(out.host(), right, 0.0);
}
