// Accesses beside what was allocated, in the ways that index arithmetic goes wrong.
#include "device.h"

__constant__ int table[16];

__global__ void right_edge_of_a_stencil(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] + x[i + 1];  // FAULT out_of_bounds
    }
}

__global__ void rows_by_the_wrong_width(float* out, int rows, int columns) {
    out[threadIdx.y * (columns + 1) + threadIdx.x] = 1;  // FAULT out_of_bounds
}

__global__ void four_at_a_time(float4* out, const float4* x) {
    out[threadIdx.x] = x[threadIdx.x];  // FAULT out_of_bounds
}

__global__ void dynamic_shared_too_small(float* out) {
    extern __shared__ float s[];
    s[threadIdx.x] = 1;  // FAULT out_of_bounds
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void last_row_of_a_shared_tile(float* out) {
    __shared__ float tile[8][8];
    int row = threadIdx.x / 8, column = threadIdx.x % 8;
    tile[row + 1][column] = 1;  // FAULT out_of_bounds
    __syncthreads();
    out[threadIdx.x] = tile[row ? row : 1][column];
}

__global__ void left_of_the_first(float* out, const float* x) {
    out[threadIdx.x] = x[int(threadIdx.x) - 1];  // FAULT out_of_bounds
}

__global__ void freed_by_the_host(float* out, const float* x) {
    out[threadIdx.x] = x[threadIdx.x];  // FAULT use_after_free
}

__global__ void transposed_shape(float* out, const float* x, int rows, int columns) {
    int row = threadIdx.x / columns, column = threadIdx.x % columns;
    out[column * columns + row] = x[threadIdx.x];  // FAULT out_of_bounds
}

__global__ void backwards_by_one(float* out, const float* x, int n) {
    out[threadIdx.x] = x[n - threadIdx.x];  // FAULT out_of_bounds
}

__global__ void bytes_taken_for_words(int* out, const char* x) {
    out[threadIdx.x] = reinterpret_cast<const int*>(x)[threadIdx.x];  // FAULT out_of_bounds
}

__global__ void pair_at_the_end(float2* out, const float* x) {
    out[threadIdx.x] = *reinterpret_cast<const float2*>(x + 2 * threadIdx.x);  // FAULT out_of_bounds
}

__global__ void three_dimensions(float* out, int nx, int ny, int nz) {
    out[(threadIdx.z * ny + threadIdx.y) * nx + threadIdx.x] = 1;  // FAULT out_of_bounds
}

__global__ void last_step_of_a_loop(float* out, int n) {
    for (int i = threadIdx.x * 2; i < n; i += 2 * blockDim.x) {
        out[i] = 1;
        out[i + 1] = 1;  // FAULT out_of_bounds
    }
}

__global__ void table_too_short(int* out) {
    out[threadIdx.x] = table[threadIdx.x];  // FAULT out_of_bounds
}

__global__ void one_row_too_far_down(float* out, const float* x, int rows, int columns) {
    for (int row = threadIdx.x; row < rows; row += blockDim.x) {
        float sum = 0;
        for (int column = 0; column <= columns; ++column) {
            sum += x[row * columns + column];  // FAULT out_of_bounds
        }
        out[row] = sum;
    }
}

int main() {
    right_edge_of_a_stencil<<<2, 64>>>(zeros<float>(100), zeros<float>(100), 100);
    rows_by_the_wrong_width<<<1, dim3(8, 8)>>>(zeros<float>(64), 8, 8);
    four_at_a_time<<<1, 32>>>(zeros<float4>(32), zeros<float4>(30));
    dynamic_shared_too_small<<<1, 64, 60 * sizeof(float)>>>(zeros<float>());
    last_row_of_a_shared_tile<<<1, 64>>>(zeros<float>());
    left_of_the_first<<<1, 64>>>(zeros<float>(), zeros<float>(64));
    float* gone = zeros<float>();
    cudaFree(gone);
    freed_by_the_host<<<1, 64>>>(zeros<float>(), gone);
    transposed_shape<<<1, 32>>>(zeros<float>(32), zeros<float>(32), 4, 8);
    backwards_by_one<<<1, 64>>>(zeros<float>(), zeros<float>(64), 64);
    bytes_taken_for_words<<<1, 64>>>(zeros<int>(), zeros<char>(64));
    pair_at_the_end<<<1, 32>>>(zeros<float2>(), zeros<float>(63));
    three_dimensions<<<1, dim3(4, 4, 4)>>>(zeros<float>(60), 4, 4, 4);
    last_step_of_a_loop<<<1, 16>>>(zeros<float>(33), 33);
    one_row_too_far_down<<<1, 8>>>(zeros<float>(), zeros<float>(64), 8, 8);
    table_too_short<<<1, 20>>>(zeros<int>());
    cudaDeviceSynchronize();
}
