// The maximum is read from a slot that the next reduction overwrites, with no barrier between.
#include <cuda_runtime.h>

__global__ void shift_and_sum(float* out, const float* x) {
    __shared__ float slots[8];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    float largest = x[t];
    for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
    }
    if (lane == 0) {
        slots[warp] = largest;
    }
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; ++w) {
            slots[0] = fmaxf(slots[0], slots[w]);
        }
    }
    __syncthreads();
    float shift = slots[0];  // FAULT shared_race
    float sum = x[t] - shift;
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) {
        slots[warp] = sum;  // FAULT shared_race
    }
    __syncthreads();
    if (t < 8) {
        out[t] = slots[t];
    }
}

int main() {
    float *x, *out, values[256];
    for (int i = 0; i < 256; ++i) {
        values[i] = float(i % 37);
    }
    cudaMalloc(&x, sizeof(values));
    cudaMalloc(&out, 8 * sizeof(float));
    cudaMemcpy(x, values, sizeof(values), cudaMemcpyHostToDevice);
    shift_and_sum<<<1, 256>>>(out, x);
    cudaDeviceSynchronize();
}
