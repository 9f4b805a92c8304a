// A kernel that makes an object; the host makes one in the same function, which is no matter of the device.
#include <cuda_runtime.h>

struct Pair {
    int first, second;
};

__host__ __device__ Pair* pair_of(int value) {
    return new Pair{value, value};
}

__global__ void sum(int* out) {
    Pair* pair = pair_of(3);
    *out = pair->first + pair->second;
    delete pair;
}

int main() {
    Pair* pair = pair_of(2);
    const bool right = pair->second == 2;
    delete pair;
    int* out;
    cudaMalloc(&out, sizeof(int));
    sum<<<1, 1>>>(out);
    cudaDeviceSynchronize();
    return !right;
}
