// Products by tensor cores: every shape and layout of the operands, sums in float and in half, tiles in shared memory.
#include "device.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <int m, int n, class LayoutA, class LayoutB, class Sum, class T>
__global__ void tile(const T* a, const T* b, Sum* c, wmma::layout_t layout, int leading_a, int leading_b, int leading_c) {
    __shared__ __align__(32) T right[32 * 40];
    for (int i = threadIdx.x; i < 32 * 40; i += blockDim.x) right[i] = b[i];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, m, n, 16, T, LayoutA> x;
    wmma::fragment<wmma::matrix_b, m, n, 16, T, LayoutB> y;
    wmma::fragment<wmma::accumulator, m, n, 16, Sum> z, start;
    wmma::fill_fragment(start, 0.5f);
    wmma::load_matrix_sync(x, a, leading_a);
    wmma::load_matrix_sync(y, right, leading_b);
    wmma::mma_sync(z, x, y, start);
    for (int i = 0; i < z.num_elements; i++) z.x[i] = z.x[i] * Sum(2);
    wmma::load_matrix_sync(start, c, leading_c, layout);
    for (int i = 0; i < z.num_elements; i++) z.x[i] = z.x[i] + start.x[i];
    wmma::store_matrix_sync(c, z, leading_c, layout);
}

// 32 x 32 of K = 48: each of four warps one tile, three steps along k
__global__ void product(const half* a, const half* b, float* c, int k) {
    const int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int step = 0; step < k; step += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
        wmma::load_matrix_sync(x, a + row * k + step, k);
        wmma::load_matrix_sync(y, b + column * k + step, k);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(c + row * 32 + column, sum, 32, wmma::mem_row_major);
}

// small whole numbers: products and sums are exact in half, too
float whole(int i) { return float(i * 7 % 5 - 2); }

template <int m, int n, class LayoutA, class LayoutB, class Sum, class T = half>
int tried(wmma::layout_t layout) {
    const bool rows_a = std::is_same<LayoutA, wmma::row_major>::value, rows_b = std::is_same<LayoutB, wmma::row_major>::value;
    const bool rows_c = layout == wmma::mem_row_major;
    const int leading_a = (rows_a ? 16 : m) + 8, leading_b = (rows_b ? n : 16) + 8, leading_c = (rows_c ? n : m) + 8;
    std::vector<T> a(32 * 40), b(32 * 40);
    std::vector<Sum> c(32 * 40);
    for (int i = 0; i < 32 * 40; i++) {
        a[i] = T(whole(i));
        b[i] = T(whole(i + 3));
        c[i] = Sum(whole(i + 1));
    }
    Buffer<T> x(a), y(b);
    Buffer<Sum> z(c);
    tile<m, n, LayoutA, LayoutB, Sum, T><<<1, 32>>>(x, y, z, layout, leading_a, leading_b, leading_c);
    std::vector<float> got, right;
    for (Sum value : z.host()) got.push_back(value);
    for (Sum value : c) right.push_back(value);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0.5f;
            for (int l = 0; l < 16; l++) {
                sum += float(a[rows_a ? i * leading_a + l : l * leading_a + i]) *
                       float(b[rows_b ? l * leading_b + j : j * leading_b + l]);
            }
            right[rows_c ? i * leading_c + j : j * leading_c + i] += 2 * sum;
        }
    }
    return compare(got, right, 0);
}

int main() {
    using R = wmma::row_major;
    using C = wmma::col_major;
    int wrong = tried<16, 16, R, R, float>(wmma::mem_row_major) + tried<16, 16, R, C, half>(wmma::mem_col_major) +
                tried<32, 8, C, R, float>(wmma::mem_col_major) + tried<32, 8, R, C, half>(wmma::mem_row_major) +
                tried<8, 32, C, C, float>(wmma::mem_row_major) + tried<8, 32, R, R, half>(wmma::mem_col_major) +
                tried<16, 16, C, R, float, __nv_bfloat16>(wmma::mem_row_major);
    std::vector<half> a(32 * 48), b(32 * 48);
    for (int i = 0; i < 32 * 48; i++) {
        a[i] = half(whole(i));
        b[i] = half(whole(i / 3));
    }
    Buffer<half> x(a), y(b);
    Buffer<float> z(32 * 32);
    product<<<1, 128>>>(x, y, z, 48);
    std::vector<float> right(32 * 32);
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 32; j++) {
            for (int l = 0; l < 48; l++) right[i * 32 + j] += float(a[i * 48 + l]) * float(b[j * 48 + l]);
        }
    }
    return wrong + compare(z.host(), right, 0);
}
