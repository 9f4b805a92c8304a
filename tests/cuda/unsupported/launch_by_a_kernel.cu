// A kernel launches another one, which is not there; the kernel that the host launches runs.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void child(int* out, int value) { out[threadIdx.x] = value; }

__global__ void parent(int* out) {
    if (threadIdx.x == 0) {
        child<<<1, 32>>>(out, 1);
    }
}

int main() {
    int* out;
    cudaMalloc(&out, 32 * sizeof(int));
    parent<<<1, 32>>>(out);
    const cudaError_t refused = cudaGetLastError();
    child<<<1, 32>>>(out, 2);
    std::printf("%s, then %s\n", cudaGetErrorName(refused), cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(out);
}
