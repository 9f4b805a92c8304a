// One kernel needs tensor cores for whole numbers, which are not there; the two others run, and what the one should have
// written is not held against them.
#include <cstdio>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

__global__ void before(float* values, int n) {
    if (threadIdx.x < n) values[threadIdx.x] = 1;
}

__global__ void product(const signed char* a, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
    wmma::load_matrix_sync(left, a, 16);
    c[threadIdx.x] = left.x[0];
}

__global__ void after(const float* values, float* out, int n) {
    if (threadIdx.x < n) out[threadIdx.x] = values[threadIdx.x] + 1;
}

int main() {
    float *values, *products, *out;
    signed char* factors;
    cudaMalloc(&values, 32 * sizeof(float));
    cudaMalloc(&products, 32 * sizeof(float));
    cudaMalloc(&out, 32 * sizeof(float));
    cudaMalloc(&factors, 256);
    before<<<1, 64>>>(values, 32);
    product<<<1, 32>>>(factors, products);
    const cudaError_t refused = cudaGetLastError();
    after<<<1, 64>>>(products, out, 32);
    std::printf("%s, then %s\n", cudaGetErrorName(refused), cudaGetErrorName(cudaDeviceSynchronize()));
}
