// Kernels whose arithmetic can be counted by hand; test_arithmetic_equals_theory.py does so.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#define SQUARE(x) ((x) * (x))
#define SCALED(x, by) x * by
#define TILE 8
#define WIDTH (TILE * 4)
#if WIDTH * 2 != 64
#error "a condition asks for it, so it stays a number"
#endif

__global__ void saxpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void saxpy_fused(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], std::fma(0.5f, x[i], __fmaf_rn(a, a, y[i])));
}

__global__ void product_tiled(float* c, const float* a, const float* b, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void softmax(float* out, const float* x, int columns) {
    const float* row = x + threadIdx.x * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int i = 0; i < columns; ++i) largest = fmaxf(largest, row[i]);
    for (int i = 0; i < columns; ++i) sum += expf(row[i] - largest);
    for (int i = 0; i < columns; ++i) out[threadIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

// one of each: float by double is double, float by int is float, half and its pairs are their own
__global__ void types(double* d, float* f, __half* h, __nv_bfloat16* b) {
    int i = threadIdx.x, twice = 2 * i + 1;
    d[i] = f[i] * d[i];                 // 1 double multiplication
    f[i] -= 3.0;                        // 1 double addition
    f[i] /= twice;                      // 1 float division
    h[i] = h[i] + h[i] * h[i];          // 1 half addition, 1 multiplication
    auto* pairs = reinterpret_cast<__half2*>(h);
    __half2 pair = pairs[i / 2];
    pair = __hfma2(pair, pair, pair);   // 2 half fused
    pair = __hadd2(pair, pair);         // 2 half additions
    if (__low2float(pair) > 1e30f) h[i] = __low2half(pair);
    b[i] *= b[i];                       // 1 bfloat16 multiplication
}

struct Complex {
    float re, im;
    __device__ Complex(float re, float im) : re(re * 1.5f), im(im) {}  // 1 multiplication
    __device__ Complex operator*(const Complex& o) const { return Complex(re * o.re - im * o.im, re * o.im + im * o.re); }
    __device__ Complex& operator+=(const Complex& o) {
        re += o.re;
        im += o.im;
        return *this;
    }
};

struct Packed {
    unsigned low : 4, high : 4;
};

template <class T>
__device__ __forceinline__ T mean(T a, T b) {
    return (a + b) / T(2);
}

// each line says what it adds: a for additions, m for multiplications, d for divisions
__global__ void spellings(float* x, int n) {
    constexpr float third = 1.0f / 3.0f;
    const float folded = 2.0f * 8.0f;
    float v = x[threadIdx.x];
    Packed packed{3, 2};
    Complex c(v, v);                            // m
    c += c * c;                                 // aaaa mmmmm
    v = SQUARE(v + third);                      // aa m
    v = SCALED(v, folded);                      // m
    v += (n) * v + (v) - (x[0]);                // aaa m
    v = mean(v, c.re) + mean<double>(1.5, v);   // a d; of double a d, and a
    auto twice = [=](float y) { return y + y; };
    v = -twice(v) * float(packed.low * packed.high);  // a m
    v *= v > 0 ? v - 1 : v + 1;                 // a m
    int at = threadIdx.x + n - 32;
    float* there = x + at * 1;
    there[int(v * 0)] += c.im / v;              // a m d
}

__global__ void matrices(float* c, const __half* a, const __half* b) {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> left;
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> right;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
    nvcuda::wmma::fill_fragment(sum, 0.0f);
    nvcuda::wmma::load_matrix_sync(left, a, 16);
    nvcuda::wmma::load_matrix_sync(right, b, 16);
    nvcuda::wmma::mma_sync(sum, left, right, sum);
    nvcuda::wmma::store_matrix_sync(c, sum, 16, nvcuda::wmma::mem_row_major);
}

int main() {
    float *x, *y;
    double* d;
    __half* h;
    __nv_bfloat16* b;
    cudaMalloc(&x, 4096 * sizeof(float));
    cudaMalloc(&y, 4096 * sizeof(float));
    cudaMalloc(&d, 32 * sizeof(double));
    cudaMalloc(&h, 256 * sizeof(__half));
    cudaMalloc(&b, 32 * sizeof(__nv_bfloat16));
    cudaMemset(x, 0, 4096 * sizeof(float));
    cudaMemset(y, 0, 4096 * sizeof(float));
    cudaMemset(d, 0, 32 * sizeof(double));
    cudaMemset(h, 0, 256 * sizeof(__half));
    cudaMemset(b, 0, 32 * sizeof(__nv_bfloat16));
    saxpy<<<4, 64>>>(y, x, 2.0f, 200);
    saxpy_fused<<<4, 64>>>(y, x, 2.0f, 200);
    product_tiled<<<dim3(3, 3), dim3(TILE, TILE)>>>(y, x, x, 24);
    softmax<<<1, 32>>>(y, x, 50);
    types<<<1, 32>>>(d, x, h, b);
    spellings<<<1, 32>>>(y, 32);
    matrices<<<1, 32>>>(y, h, h);
    return cudaDeviceSynchronize() != cudaSuccess;
}
