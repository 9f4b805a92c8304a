// A block for a row: maximum, sum and result each read the row; one shared array serves both reductions.
#include "device.h"

template <bool Maximum>
__device__ float block_reduce(float value, float* slots) {
    int t = threadIdx.x;
    slots[t] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) {
            slots[t] = Maximum ? fmaxf(slots[t], slots[t + half]) : slots[t] + slots[t + half];
        }
        __syncthreads();
    }
    float result = slots[0];
    __syncthreads();
    return result;
}

__global__ void softmax(float* out, const float* x, int columns) {
    extern __shared__ float slots[];
    const float* from = x + blockIdx.x * columns;
    float* to = out + blockIdx.x * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        largest = fmaxf(largest, from[c]);
    }
    largest = block_reduce<true>(largest, slots);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        sum += expf(from[c] - largest);
    }
    sum = block_reduce<false>(sum, slots);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        to[c] = expf(from[c] - largest) / sum;
    }
}

int main() {
    const int rows = 3, columns = 1003;
    std::vector<float> x = noise(rows * columns, 4);
    std::vector<double> right(rows * columns);
    for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int c = 0; c < columns; ++c) {
            sum += right[r * columns + c] = std::exp(double(x[r * columns + c]));
        }
        for (int c = 0; c < columns; ++c) {
            right[r * columns + c] /= sum;
        }
    }
    Buffer<float> input(x), out(rows * columns);
    softmax<<<rows, 128, 128 * sizeof(float)>>>(out, input, columns);
    return compare(out.host(), right, 1e-6);
}
