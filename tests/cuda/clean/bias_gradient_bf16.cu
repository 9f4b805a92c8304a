// Column sums of a bf16 matrix: pairs of columns a thread, partial sums in shared memory, results written as halves.
#include <cuda_bf16.h>

#include "device.h"

__global__ void bias_gradient(__nv_bfloat16* out, const __nv_bfloat16* dy, int rows, int columns) {
    __shared__ float sums[8][64];
    int pair = threadIdx.x, column = blockIdx.x * 64 + 2 * pair;
    float first = 0.0f, second = 0.0f;
    for (int r = threadIdx.y; r < rows; r += 8) {
        __nv_bfloat162 v = *reinterpret_cast<const __nv_bfloat162*>(dy + r * columns + column);
        first += __bfloat162float(v.x);
        second += __bfloat162float(v.y);
    }
    sums[threadIdx.y][2 * pair] = first;
    sums[threadIdx.y][2 * pair + 1] = second;
    __syncthreads();
    if (threadIdx.y < 2) {
        int c = threadIdx.y * 32 + threadIdx.x;
        float sum = 0.0f;
        for (int part = 0; part < 8; ++part) {
            sum += sums[part][c];
        }
        out[blockIdx.x * 64 + c] = __float2bfloat16(sum);
    }
}

int main() {
    const int rows = 30, columns = 192;
    std::vector<__nv_bfloat16> dy(rows * columns);
    std::vector<double> right(columns);
    for (int i = 0; i < rows * columns; ++i) {
        float value = float(i % 13 - 6);  // small integers: exact in bf16, and so are their sums
        dy[i] = __float2bfloat16(value);
        right[i % columns] += value;
    }
    Buffer<__nv_bfloat16> input(dy), out(columns);
    bias_gradient<<<columns / 64, dim3(32, 8)>>>(out, input, rows, columns);
    std::vector<float> got;
    for (__nv_bfloat16 value : out.host()) {
        got.push_back(__bfloat162float(value));
    }
    return compare(got, right, 0.0);
}
