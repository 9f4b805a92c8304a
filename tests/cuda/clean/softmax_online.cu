// One pass for maximum and sum: every lane keeps both, and rescales the sum when the maximum grows.
#include "device.h"

struct State {
    float largest, sum;
};

__device__ State merge(State a, State b) {
    State high = a.largest > b.largest ? a : b, low = a.largest > b.largest ? b : a;
    float sum = high.sum;
    if (low.sum > 0.0f) {
        sum += low.sum * expf(low.largest - high.largest);
    }
    return {high.largest, sum};
}

__global__ void softmax(float* out, const float* x, int rows, int columns) {
    int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const float* from = x + size_t(row) * columns;
    State state = {-INFINITY, 0.0f};
    for (int c = lane; c < columns; c += 32) {
        state = merge(state, {__ldg(from + c), 1.0f});
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        State other = {
            __shfl_xor_sync(0xffffffff, state.largest, offset), __shfl_xor_sync(0xffffffff, state.sum, offset)};
        state = merge(state, other);
    }
    for (int c = lane; c < columns; c += 32) {
        __stcs(out + size_t(row) * columns + c, expf(__ldcs(from + c) - state.largest) / state.sum);
    }
}

int main() {
    const int rows = 7, columns = 515;
    std::vector<float> x = noise(rows * columns);
    std::vector<double> right(rows * columns);
    for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int c = 0; c < columns; ++c) {
            sum += right[r * columns + c] = std::exp(double(x[r * columns + c] *= 20.0f));
        }
        for (int c = 0; c < columns; ++c) {
            right[r * columns + c] /= sum;
        }
    }
    Buffer<float> input(x), out(rows * columns);
    softmax<<<(rows + 3) / 4, 128>>>(out, input, rows, columns);
    return compare(out.host(), right, 1e-5);
}
