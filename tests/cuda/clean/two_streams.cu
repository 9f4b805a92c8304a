// Two streams with pinned memory; the second waits for an event of the first.
#include "device.h"

__global__ void add(int* x, int value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] += value;
    }
}

int main() {
    const int n = 1000;
    int *host, *x;
    cudaStream_t first, second;
    cudaEvent_t added;
    must(cudaMallocHost(&host, n * sizeof(int)), "cudaMallocHost");
    must(cudaMalloc(&x, n * sizeof(int)), "cudaMalloc");
    cudaStreamCreate(&first);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&added, cudaEventDisableTiming);
    for (int i = 0; i < n; ++i) {
        host[i] = i;
    }
    cudaMemcpyAsync(x, host, n * sizeof(int), cudaMemcpyHostToDevice, first);
    add<<<(n + 255) / 256, 256, 0, first>>>(x, 5, n);
    cudaEventRecord(added, first);
    cudaStreamWaitEvent(second, added, 0);
    add<<<(n + 255) / 256, 256, 0, second>>>(x, 7, n);
    cudaMemcpyAsync(host, x, n * sizeof(int), cudaMemcpyDeviceToHost, second);
    must(cudaStreamSynchronize(second), "second stream");
    std::vector<int> got(host, host + n), right(n);
    for (int i = 0; i < n; ++i) {
        right[i] = i + 12;
    }
    cudaEventDestroy(added);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaFreeHost(host);
    cudaFree(x);
    return compare(got, right, 0);
}
