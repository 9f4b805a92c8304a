// The first block writes a message and raises a flag behind a fence; the second waits for the flag and reads.
#include "device.h"

__global__ void pass_on(volatile int* flag, int* message, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        message[t] = t * t;
        __threadfence();
        __syncthreads();
        if (t == 0) {
            *flag = 1;
        }
    } else {
        if (t == 0) {
            while (*flag == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        out[t] = message[63 - t];
    }
}

int main() {
    std::vector<int> right(64);
    for (int t = 0; t < 64; ++t) {
        right[t] = (63 - t) * (63 - t);
    }
    Buffer<int> flag(1), message(64), out(64);
    pass_on<<<2, 64>>>(flag.zero(), message, out);
    return compare(out.host(), right, 0);
}
