// A flag lies one word past the dynamic shared memory that the launch asks for.
#include <cuda_runtime.h>

__global__ void last_flag(int* out) {
    extern __shared__ int slots[];
    slots[threadIdx.x] = threadIdx.x;
    int* flag = slots + blockDim.x;
    if (threadIdx.x == 0) {
        *flag = 1;  // FAULT out_of_bounds
    }
    __syncthreads();
    out[threadIdx.x] = slots[threadIdx.x];
}

int main() {
    int* out;
    cudaMalloc(&out, 64 * sizeof(int));
    last_flag<<<1, 64, 64 * sizeof(int)>>>(out);
    cudaDeviceSynchronize();
}
