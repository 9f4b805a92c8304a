// Warps reduce by shuffles, their results meet in shared memory, and the first warp reduces those.
#include "device.h"

__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}

__global__ void row_max(float* out, const float* x, int columns) {
    __shared__ float best[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const float* row = x + size_t(blockIdx.x) * columns;
    float value = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        value = fmaxf(value, row[c]);
    }
    value = warp_max(value);
    if (lane == 0) {
        best[warp] = value;
    }
    __syncthreads();
    if (warp == 0) {
        value = warp_max(lane < warps ? best[lane] : -INFINITY);
        if (lane == 0) {
            out[blockIdx.x] = value;
        }
    }
}

int main() {
    const int rows = 5, columns = 777;
    std::vector<float> x = noise(rows * columns), right(rows, -INFINITY);
    for (int i = 0; i < rows * columns; ++i) {
        right[i / columns] = std::fmax(right[i / columns], x[i]);
    }
    Buffer<float> input(x), out(rows);
    row_max<<<rows, 192>>>(out, input, columns);
    return compare(out.host(), right, 0.0);
}
