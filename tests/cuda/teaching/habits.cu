// Ways of writing CUDA that public code has and textbooks do not show.
#include <cstdio>

// As some editors lay launches out.
__global__ void fill(int* out, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}
template <class T>
__global__ void add(T* out, int n, T value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += value;
}
#define LAUNCH(kernel, n, ...) kernel << <(n + 31) / 32, 32 >> > (__VA_ARGS__)

static void spaced_launches(int* out, int n) {
    fill << <(n + 31) / 32, 32 >> > (out, n, 1);
    fill <<<(n >> 1) + 1, 32 >> >(out, n, 1);
    add<int> << <dim3((n + 31) / 32), dim3(32), 0, 0 >> > (out, n, 2);
    LAUNCH(add, n, out, n, 4);
}

int main() {
    const int n = 100;
    int *device, host[n];
    cudaMalloc((void**)&device, n * sizeof(int));
    spaced_launches(device, n);
    cudaMemcpy(host, device, n * sizeof(int), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += host[i] != 7;
    cudaFree(device);
    printf("%d values are wrong\n", wrong);
    return wrong != 0;
}
