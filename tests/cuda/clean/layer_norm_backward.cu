// Gradients of the input by warp, those of the weight gathered in shared memory first, then added by atomics.
#include "device.h"

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

__global__ void backward(float* dx, float* dweight, const float* dy, const float* x, const float* weight,
                         const float* mean, const float* scale, int rows, int columns) {
    extern __shared__ float gathered[];
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        gathered[c] = 0.0f;
    }
    __syncthreads();
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        const float *dyr = dy + row * columns, *xr = x + row * columns;
        float sum = 0.0f, dot = 0.0f;
        for (int c = lane; c < columns; c += 32) {
            float normal = (xr[c] - mean[row]) * scale[row], d = weight[c] * dyr[c];
            sum += d;
            dot += d * normal;
        }
        sum = warp_sum(sum) / columns;
        dot = warp_sum(dot) / columns;
        for (int c = lane; c < columns; c += 32) {
            float normal = (xr[c] - mean[row]) * scale[row];
            dx[row * columns + c] = (weight[c] * dyr[c] - sum - normal * dot) * scale[row];
            atomicAdd(&gathered[c], normal * dyr[c]);
        }
    }
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        atomicAdd(&dweight[c], gathered[c]);
    }
}

int main() {
    const int rows = 19, columns = 70;
    std::vector<float> x = noise(rows * columns), dy = noise(rows * columns, 2), weight = noise(columns, 3);
    std::vector<float> mean(rows), scale(rows);
    std::vector<double> dx(rows * columns), dweight(columns);
    for (int r = 0; r < rows; ++r) {
        double m = 0, v = 0, sum = 0, dot = 0;
        for (int c = 0; c < columns; ++c) {
            m += x[r * columns + c] / double(columns);
        }
        for (int c = 0; c < columns; ++c) {
            v += std::pow(x[r * columns + c] - m, 2) / columns;
        }
        mean[r] = float(m);
        scale[r] = float(1 / std::sqrt(v + 1e-5));
        for (int c = 0; c < columns; ++c) {
            double normal = (x[r * columns + c] - m) * scale[r], d = double(weight[c]) * dy[r * columns + c];
            sum += d / columns;
            dot += d * normal / columns;
            dweight[c] += normal * dy[r * columns + c];
        }
        for (int c = 0; c < columns; ++c) {
            double normal = (x[r * columns + c] - m) * scale[r], d = double(weight[c]) * dy[r * columns + c];
            dx[r * columns + c] = (d - sum - normal * dot) * scale[r];
        }
    }
    Buffer<float> bx(x), bdy(dy), bw(weight), bm(mean), bs(scale), bdx(rows * columns), bdw(columns);
    backward<<<3, 128, columns * sizeof(float)>>>(bdx, bdw.zero(), bdy, bx, bw, bm, bs, rows, columns);
    int wrong = compare(bdx.host(), dx, 1e-4);
    return wrong ? wrong : compare(bdw.host(), dweight, 1e-4);
}
