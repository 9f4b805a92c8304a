// One warp fills a ring of tiles, another sums them; flags and fences say which tile is full and which is free.
#include "device.h"

constexpr int SLOTS = 2;

__global__ void pipeline(float* out, const float* x, int tiles) {
    __shared__ float ring[SLOTS][32];
    __shared__ volatile int filled, taken;
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        filled = 0;
        taken = 0;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int i = 0; i < tiles; ++i) {
            while (i - taken >= SLOTS) {
            }
            __threadfence_block();
            ring[i % SLOTS][lane] = x[i * 32 + lane];
            __threadfence_block();
            __syncwarp();
            if (lane == 0) {
                filled = i + 1;
            }
        }
    } else {
        float sum = 0.0f;
        for (int i = 0; i < tiles; ++i) {
            while (filled <= i) {
            }
            __threadfence_block();
            sum += ring[i % SLOTS][31 - lane];
            __threadfence_block();
            __syncwarp();
            if (lane == 0) {
                taken = i + 1;
            }
        }
        out[lane] = sum;
    }
}

int main() {
    const int tiles = 7;
    std::vector<float> x = noise(32 * tiles);
    std::vector<double> right(32);
    for (int i = 0; i < 32 * tiles; ++i) {
        right[31 - i % 32] += x[i];
    }
    Buffer<float> input(x), out(32);
    pipeline<<<1, 64>>>(out, input, tiles);
    return compare(out.host(), right, 1e-5);
}
