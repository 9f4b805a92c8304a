// The mask names the lower half of the warp, and a lane of the upper half is asked.
#include <cuda_runtime.h>

__global__ void borrow(int* out) {
    int lane = threadIdx.x, value = 3 * lane;
    if (lane < 16) {
        value = __shfl_sync(0x0000ffff, value, lane + 16);  // FAULT inactive_lane
    }
    out[lane] = value;
}

int main() {
    int* out;
    cudaMalloc(&out, 32 * sizeof(int));
    borrow<<<1, 32>>>(out);
    cudaDeviceSynchronize();
}
