// Softmax of rows, each kernel launched several times; prints the processor seconds of the fastest launch of each.
//     softmax ROWS COLUMNS THREADS LAUNCHES
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

__device__ float reduce(float value, float* slots, bool maximum) {
    int t = threadIdx.x;
    slots[t] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) {
            slots[t] = maximum ? fmaxf(slots[t], slots[t + half]) : slots[t] + slots[t + half];
        }
        __syncthreads();
    }
    float result = slots[0];
    __syncthreads();
    return result;
}

/// Three passes over the row: maximum, sum, result.
__global__ void three_passes(float* out, const float* x, int columns) {
    extern __shared__ float slots[];
    const float* from = x + size_t(blockIdx.x) * columns;
    float* to = out + size_t(blockIdx.x) * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        largest = fmaxf(largest, from[c]);
    }
    largest = reduce(largest, slots, true);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        sum += expf(from[c] - largest);
    }
    sum = reduce(sum, slots, false);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        to[c] = expf(from[c] - largest) / sum;
    }
}

/// Two passes: maximum and rescaled sum together, then the result.
__global__ void online(float* out, const float* x, int columns) {
    extern __shared__ float slots[];
    const float* from = x + size_t(blockIdx.x) * columns;
    float* to = out + size_t(blockIdx.x) * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        float value = from[c];
        if (value > largest) {
            sum = sum * expf(largest - value) + 1.0f;
            largest = value;
        } else {
            sum += expf(value - largest);
        }
    }
    float whole = reduce(largest, slots, true);
    sum = reduce(sum == 0.0f ? 0.0f : sum * expf(largest - whole), slots, false);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        to[c] = expf(from[c] - whole) / sum;
    }
}

template <class Kernel>
double seconds(Kernel kernel, int rows, int columns, int threads, int launches, float* out, const float* x) {
    double best = 1e30;
    for (int i = 0; i < launches; ++i) {
        clock_t start = clock();
        kernel<<<rows, threads, threads * sizeof(float)>>>(out, x, columns);
        cudaDeviceSynchronize();
        double taken = double(clock() - start) / CLOCKS_PER_SEC;
        best = taken < best ? taken : best;
    }
    return best;
}

int main(int argc, char** argv) {
    if (argc != 5) {
        return 2;
    }
    int rows = atoi(argv[1]), columns = atoi(argv[2]), threads = atoi(argv[3]), launches = atoi(argv[4]);
    size_t n = size_t(rows) * columns;
    std::vector<float> host(n);
    for (size_t i = 0; i < n; ++i) {
        host[i] = float(i * 2654435761u % 1000) / 100.0f;
    }
    float *x, *out;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    printf("%.6f %.6f\n", seconds(three_passes, rows, columns, threads, launches, out, x),
           seconds(online, rows, columns, threads, launches, out, x));
    return cudaGetLastError() != cudaSuccess;
}
