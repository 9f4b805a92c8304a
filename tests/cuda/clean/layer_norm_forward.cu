// Mean and variance by cooperative groups, a warp for a row, vectors of four floats.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "device.h"

namespace cg = cooperative_groups;

__global__ void layer_norm(float* out, float* means, const float* x, const float* weight, const float* bias, int rows,
                           int columns) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= rows) {
        return;
    }
    const float4* from = reinterpret_cast<const float4*>(x + row * columns);
    float sum = 0.0f, squares = 0.0f;
    for (int c = warp.thread_rank(); c < columns / 4; c += warp.size()) {
        float4 v = from[c];
        sum += v.x + v.y + v.z + v.w;
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float mean = cg::reduce(warp, sum, cg::plus<float>{}) / columns;
    float variance = cg::reduce(warp, squares, cg::plus<float>{}) / columns - mean * mean;
    float scale = rsqrtf(variance + 1e-5f);
    for (int c = warp.thread_rank(); c < columns; c += warp.size()) {
        out[row * columns + c] = (x[row * columns + c] - mean) * scale * weight[c] + bias[c];
    }
    if (warp.thread_rank() == 0) {
        means[row] = mean;
    }
}

int main() {
    const int rows = 6, columns = 132;
    std::vector<float> x = noise(rows * columns), weight = noise(columns, 2), bias = noise(columns, 3);
    std::vector<double> right(rows * columns);
    for (int r = 0; r < rows; ++r) {
        double mean = 0, variance = 0;
        for (int c = 0; c < columns; ++c) {
            mean += x[r * columns + c] / double(columns);
        }
        for (int c = 0; c < columns; ++c) {
            variance += std::pow(x[r * columns + c] - mean, 2) / columns;
        }
        for (int c = 0; c < columns; ++c) {
            right[r * columns + c] = (x[r * columns + c] - mean) / std::sqrt(variance + 1e-5) * weight[c] + bias[c];
        }
    }
    Buffer<float> input(x), w(weight), b(bias), out(rows * columns), means(rows);
    layer_norm<<<2, 128>>>(out, means, input, w, b, rows, columns);
    return compare(out.host(), right, 1e-4);
}
