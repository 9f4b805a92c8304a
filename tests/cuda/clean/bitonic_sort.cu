// A block sorts 512 keys in shared memory: steps within a warp need a warp barrier only.
#include <algorithm>

#include "device.h"

__global__ void sort(int* keys) {
    __shared__ int s[512];
    int t = threadIdx.x;
    s[t] = keys[t];
    s[t + 256] = keys[t + 256];
    __syncthreads();
    for (int size = 2; size <= 512; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int i = 2 * t - (t & (stride - 1));
            bool up = (i & size) == 0;
            int a = s[i], b = s[i + stride];
            if ((a > b) == up) {
                s[i] = b;
                s[i + stride] = a;
            }
            if (stride > 32) {
                __syncthreads();
            } else if (stride > 1) {
                __syncwarp();
            }
        }
        __syncthreads();
    }
    keys[t] = s[t];
    keys[t + 256] = s[t + 256];
}

int main() {
    std::vector<int> x(512), right;
    for (int i = 0; i < 512; ++i) {
        x[i] = i * 7919 % 523;
    }
    right = x;
    std::sort(right.begin(), right.end());
    Buffer<int> keys(x);
    sort<<<1, 256>>>(keys);
    return compare(keys.host(), right, 0);
}
