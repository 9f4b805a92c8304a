// Kernels whose traffic can be counted by hand; test_counters_equal_theory.py does so, knowing only their index formulas.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// one, two and three passes over rows of an odd length: consecutive lanes, rows that start in mid-sector

template <int Passes>
__device__ void passes(float* out, const float* x, int columns) {
    const float* row = x + blockIdx.x * columns;
    float a = 0.0f, b = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        a = fmaxf(a, row[c]);
    }
    if (Passes > 1) {
        for (int c = threadIdx.x; c < columns; c += blockDim.x) {
            b += row[c] - a;
        }
    }
    if (Passes > 2) {
        for (int c = threadIdx.x; c < columns; c += blockDim.x) {
            out[blockIdx.x * columns + c] = row[c] * b;
        }
    } else {
        out[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
    }
}

__global__ void one_pass(float* out, const float* x, int columns) { passes<1>(out, x, columns); }
__global__ void two_passes(float* out, const float* x, int columns) { passes<2>(out, x, columns); }
__global__ void three_passes(float* out, const float* x, int columns) { passes<3>(out, x, columns); }

// how lanes lie in memory

__global__ void thread_per_row(float* out, const float* x, int columns) {
    float sum = 0.0f;
    for (int c = 0; c < columns; ++c) {
        sum += x[threadIdx.x * columns + c];
    }
    out[threadIdx.x] = sum;
}

__global__ void every_other(float* out, const float* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[2 * i + 1];
}

__global__ void vectors(float4* out, const float4* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        out[i] = make_float4(v.w, v.z, v.y, v.x);
    }
}

__global__ void halves(__half* out, const __half* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        __half v = x[i + 1];
        out[i] = v;
    }
}

__global__ void one_for_all(float* out, const float* x) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x] + 1.0f;
}

__global__ void count_up(unsigned* bins, const unsigned* x) { atomicAdd(&bins[x[threadIdx.x]], 1u); }

// banks of shared memory

template <int Stride>
__device__ void banks(float* out) {
    __shared__ float s[32 * Stride];
    int lane = threadIdx.x;
    for (int i = lane; i < 32 * Stride; i += 32) {
        s[i] = float(i);
    }
    __syncthreads();
    out[lane] = s[lane * Stride];
}

__global__ void banks_1(float* out) { banks<1>(out); }
__global__ void banks_2(float* out) { banks<2>(out); }
__global__ void banks_4(float* out) { banks<4>(out); }
__global__ void banks_32(float* out) { banks<32>(out); }
__global__ void banks_33(float* out) { banks<33>(out); }

__global__ void banks_of_vectors(float4* out, const float4* x) {
    __shared__ float4 s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[63 - t];
}

__global__ void banks_broadcast(float* out) {
    __shared__ float s[32];
    s[threadIdx.x] = float(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x / 8];
}

template <class T>
T* filled(int n) {
    T* data;
    cudaMalloc(&data, n * sizeof(T));
    cudaMemset(data, 0, n * sizeof(T));
    return data;
}

int main() {
    const int rows = 3, columns = 1003, threads = 96;
    float* x = filled<float>(rows * columns);           // buffer 0
    float* out = filled<float>(rows * columns);         // buffer 1
    float4* x4 = filled<float4>(1000);                  // buffer 2
    float4* out4 = filled<float4>(1000);                // buffer 3
    __half* h = filled<__half>(1000);                   // buffer 4
    __half* outh = filled<__half>(1000);                // buffer 5
    unsigned *bins = filled<unsigned>(8), keys[64], *k = filled<unsigned>(64);  // buffers 6 and 7
    for (int i = 0; i < 64; ++i) {
        keys[i] = i * i % 8;
    }
    cudaMemcpy(k, keys, sizeof(keys), cudaMemcpyHostToDevice);
    one_pass<<<rows, threads>>>(out, x, columns);
    two_passes<<<rows, threads>>>(out, x, columns);
    three_passes<<<rows, threads>>>(out, x, columns);
    thread_per_row<<<1, 40>>>(out, x, 75);
    every_other<<<3, 64>>>(out, x);
    vectors<<<2, 64>>>(out4, x4, 333);
    halves<<<4, 96>>>(outh, h, 371);
    one_for_all<<<3, 64>>>(out, x);
    count_up<<<1, 64>>>(bins, k);
    banks_1<<<1, 32>>>(out);
    banks_2<<<1, 32>>>(out);
    banks_4<<<1, 32>>>(out);
    banks_32<<<1, 32>>>(out);
    banks_33<<<1, 32>>>(out);
    banks_of_vectors<<<1, 64>>>(out4, x4);
    banks_broadcast<<<1, 32>>>(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}
