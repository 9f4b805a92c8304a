// Accesses that compilers like to merge, widen, move or make memcpy of; main returns the last error.
#include <cstring>
#include <cstdio>
struct alignas(16) Wide { float v[4]; };
struct Big { int a[12]; };
__global__ void copies(Wide* w, Big* b, float* x, float4* f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { w[i] = w[i + n]; b[i] = b[i + n]; f[i] = f[i + n]; x[i] += 1; x[i] += x[i + n]; }
}
__global__ void loops(float* x, const float* y, int n) {
    for (int j = 0; j < n; j++) x[threadIdx.x * n + j] = y[threadIdx.x * n + j];
    for (int j = 0; j < n; j++) x[threadIdx.x * n + j] = 0;
}
__global__ void sums(float* out, const float* x, int n) {
    __shared__ float part[64];
    float s = 0;
    #pragma unroll 4
    for (int j = threadIdx.x; j < n; j += blockDim.x) s += x[j];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int d = 32; d; d >>= 1) { if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d]; __syncthreads(); }
    if (!threadIdx.x) *out = part[0];
}
__global__ void moves(char* a, const char* b) { memcpy(a + 64 * threadIdx.x, b + 64 * threadIdx.x, 64); memset(a + 64 * threadIdx.x, 1, 3); }
int main() {
    Wide* w; Big* b; float *x, *y; float4* f; int n = 64;
    cudaMalloc(&w, 2 * n * sizeof *w); cudaMalloc(&b, 2 * n * sizeof *b); cudaMalloc(&x, 4096 * 4); cudaMalloc(&y, 4096 * 4); cudaMalloc(&f, 2 * n * 16);
    cudaMemset(w, 0, 2 * n * sizeof *w); cudaMemset(b, 0, 2 * n * sizeof *b); cudaMemset(x, 0, 4096 * 4); cudaMemset(y, 0, 4096 * 4);cudaMemset(f, 0, 2*n * 16);
    copies<<<1, 64>>>(w, b, x, f, n);
    loops<<<1, 64>>>(x, y, 17);
    sums<<<1, 64>>>(x, y, 1000);
    moves<<<1, 64>>>((char*)x, (char*)y);
    return cudaDeviceSynchronize();
}
