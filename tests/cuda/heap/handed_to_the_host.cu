// What kernels allocate is theirs: the host can neither copy nor free it; some of it is never freed.
#include <cstdio>
#include <cuda_runtime.h>

__device__ float* kept;

__global__ void keep(float** out) {
    kept = new float[4]();
    *out = kept;
}
__global__ void fill(int* given, int bytes) {
    while (malloc(bytes)) ++*given;
}

int main() {
    float** out;
    float* theirs;
    float host[4];
    int* given;
    int blocks = 0;
    size_t limit = 0;
    cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    cudaMalloc(&out, sizeof theirs);
    cudaMalloc(&given, sizeof blocks);
    cudaMemset(given, 0, sizeof blocks);
    keep<<<1, 1>>>(out);
    cudaMemcpy(&theirs, out, sizeof theirs, cudaMemcpyDeviceToHost);
    printf("limit %zu\n", limit);
    printf("copy: %s\n", cudaGetErrorName(cudaMemcpy(host, theirs, sizeof host, cudaMemcpyDeviceToHost)));
    printf("free: %s\n", cudaGetErrorName(cudaFree(theirs)));
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20);
    fill<<<1, 1>>>(given, 100000);
    cudaMemcpy(&blocks, given, sizeof blocks, cudaMemcpyDeviceToHost);
    printf("%d blocks of 100,000 bytes\n", blocks);
    cudaFree(given);
    cudaFree(out);
}
