// Shared memory in every form that a source may give it; main returns the number of the first one that went wrong.
#include <cstdio>
#define TILE 8
#define SMEM __shared__
#define SHARED_PAIR(T, name) __shared__ T name##_low[32], name##_high[32]

extern __shared__ float whole[];
static __shared__ int file_wide[4];

struct Pair {
    float value;
    int index;
};

template <typename T>
struct Dynamic {
    __device__ operator T*() {
        extern __shared__ int dynamic_memory[];
        return (T*)dynamic_memory;
    }
    __device__ inline operator const T*() const {
        extern __shared__ int dynamic_memory[];
        return (T*)dynamic_memory;
    }
};

template <typename T, int N>
__device__ T sum_of(T value) {
    static __shared__ T part[N];
    part[threadIdx.x] = value;
    __syncthreads();
    T total = 0;
    for (int i = 0; i < N; i++) total += part[i];
    __syncthreads();
    return total;
}

template <typename T, int N>
__global__ void several(T* out) {
    __shared__ T tile[N][N + 1], line[N], one, *pointer;
    __shared__ struct { int a; float b; } unnamed;
    SMEM Pair pairs[N];
    volatile __shared__ int flag;
    __shared__ volatile unsigned seen[2];
    __shared__ __align__(16) unsigned char raw[sizeof(Pair) * N];
    __shared__ alignas(32) float aligned[N];
    alignas(float4) __shared__ float other[4];
    __shared__ alignas(Pair) alignas(N) char named[sizeof(Pair)];
    __shared__ alignas(sizeof(T) > 2 ? 8 : 4) alignas(std::integral_constant<int, 4>) char chosen[8];
    SHARED_PAIR(float, edge);
    const int t = threadIdx.x;
    if (t < N) {
        line[t] = t;
        pairs[t] = {float(t), t};
        reinterpret_cast<Pair*>(raw)[t] = pairs[t];
        aligned[t] = 1;
        for (int j = 0; j < N; j++) tile[t][j] = t * j;
        file_wide[t % 4] = 4;
    }
    if (t == 0) {
        one = 10, pointer = line, unnamed.a = 1, unnamed.b = 2, flag = 3, seen[1] = 4;
        other[3] = ((size_t)aligned % 32 == 0) && ((size_t)other % 16 == 0) && ((size_t)raw % 16 == 0) &&
                   ((size_t)named % alignof(Pair) == 0) && ((size_t)chosen % 8 == 0);
        edge_low[31] = 1, edge_high[0] = 2;
    }
    __syncthreads();
    if (t == 0) {
        out[0] = tile[2][3] + pointer[3] + one + unnamed.a + unnamed.b + flag + seen[1] + other[3];
        out[1] = ((Pair*)raw)[5].value + sizeof(tile) / sizeof(T) + edge_low[31] + edge_high[0] + file_wide[1];
    }
    T total = sum_of<T, N>(t);
    if (t == 0) out[2] = total;
}

__global__ void dynamic(float* out, int n) {
    float* doubles = &whole[n];
    if (threadIdx.x < n) {
        whole[threadIdx.x] = threadIdx.x;
        doubles[threadIdx.x] = 2 * whole[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = whole[n - 1] + doubles[n - 1];
}

__global__ void own_name(float* out, const float* whole) { *out = whole[0]; }

__global__ void local_dynamic(double* out) {
    extern __shared__ __align__(sizeof(double)) unsigned char bytes[];
    double* values = reinterpret_cast<double*>(bytes);
    values[threadIdx.x] = 1.5;
    __syncthreads();
    if (!threadIdx.x) *out = values[blockDim.x - 1];
}

template <typename T>
__global__ void through_class(T* out) {
    T* mine = Dynamic<T>();
    mine[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (!threadIdx.x) *out = mine[3];
}

int main() {
    float *out, h[4];
    double *wide, d;
    cudaMalloc(&out, sizeof(h));
    cudaMalloc(&wide, sizeof(d));
    several<float, TILE><<<1, TILE>>>(out);
    cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost);
    if (h[0] != 6 + 3 + 10 + 1 + 2 + 3 + 4 + 1) return 1;
    if (h[1] != 5 + 72 + 1 + 2 + 4) return 2;
    if (h[2] != 28) return 3;
    dynamic<<<1, 32, 2 * 32 * sizeof(float)>>>(out, 32);
    cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost);
    if (h[0] != 31 + 62) return 4;
    local_dynamic<<<1, 8, 8 * sizeof(double)>>>(wide);
    cudaMemcpy(&d, wide, sizeof(d), cudaMemcpyDeviceToHost);
    if (d != 1.5) return 5;
    through_class<<<1, 8, 8 * sizeof(float)>>>(out);
    cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost);
    if (h[0] != 3) return 6;
    own_name<<<1, 1>>>(out + 1, out);
    cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost);
    if (h[1] != 3) return 7;
    return cudaGetLastError() == cudaSuccess ? 0 : 8;
}
