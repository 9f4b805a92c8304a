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

// A variable that both sides use, and one that only the device does.
__managed__ int seen_by_both = 1;
__device__ int counted;

__global__ void double_managed() {
    seen_by_both *= 2;
    atomicAdd(&counted, seen_by_both);
}
static int managed_variable() {
    seen_by_both += 20;
    double_managed<<<1, 1>>>();
    int on_device = 0;
    cudaMemcpyFromSymbol(&on_device, counted, sizeof(int));
    return seen_by_both != 42 || on_device != 42;
}

// Scratch memory that each thread asks for itself.
__global__ void reversed(const int* in, int* out, int each) {
    int* scratch = static_cast<int*>(malloc(each * sizeof(int)));
    for (int i = 0; i < each; i++) scratch[each - 1 - i] = in[threadIdx.x * each + i];
    for (int i = 0; i < each; i++) out[threadIdx.x * each + i] = scratch[i];
    free(scratch);
}

// Kernels behind pointers, and launches without the triple brackets.
template <class T>
__global__ void scale(T* data, int n, T by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= by;
}
static int launches_by_pointer(int* data, int n) {
    int by = 3;
    void* arguments[] = {&data, &n, &by};
    const dim3 grid((n + 31) / 32), block(32);
    void (*kernel)(int*, int, int) = &scale<int>;
    kernel<<<grid, block>>>(data, n, 2);
    int failed = cudaLaunchKernel((void*)scale<int>, grid, block, arguments, 0, 0) != cudaSuccess;
    failed += cudaLaunchKernel(reinterpret_cast<const void*>(&scale<int>), grid, block, arguments, 0, 0) != cudaSuccess;
    failed += cudaLaunchCooperativeKernel((const void*)scale<int>, grid, block, arguments, 0, 0) != cudaSuccess;
    return failed;
}

int main() {
    const int n = 100;
    int *device, *other, host[n];
    cudaMalloc((void**)&device, n * sizeof(int));
    cudaMalloc((void**)&other, n * sizeof(int));
    spaced_launches(device, n);
    int wrong = managed_variable() + launches_by_pointer(device, n);
    cudaMemcpy(host, device, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) {
        wrong += host[i] != 7 * 2 * 27;
        host[i] = i;
    }
    cudaMemcpy(device, host, n * sizeof(int), cudaMemcpyHostToDevice);
    reversed<<<1, 10>>>(device, other, 10);
    cudaMemcpy(host, other, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) wrong += host[i] != i / 10 * 10 + 9 - i % 10;
    cudaFree(device);
    cudaFree(other);
    printf("%d values are wrong\n", wrong);
    return wrong != 0;
}
