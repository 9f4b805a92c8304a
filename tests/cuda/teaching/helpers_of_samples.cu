// The helpers that NVIDIA's samples include from beside them.
#include <helper_cuda.h>
#include <helper_functions.h>

__global__ void ramp(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}

int main(int argc, char** argv) {
    const char* words[] = {"sample", "--size=100", "-device=0", "--verbose"};
    const int n = getCmdLineArgumentInt(4, words, "size");
    bool wrong = n != 100 || !checkCmdLineFlag(4, words, "verbose") || checkCmdLineFlag(4, words, "quiet");
    findCudaDevice(argc, (const char**)argv);
    StopWatchInterface* timer = nullptr;
    sdkCreateTimer(&timer);
    sdkStartTimer(&timer);
    int* device;
    std::vector<int> host(n), expected(n);
    checkCudaErrors(cudaMalloc((void**)&device, n * sizeof(int)));
    ramp<<<(n + 63) / 64, 64>>>(device, n);
    getLastCudaError("ramp failed");
    checkCudaErrors(cudaMemcpy(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
    checkCudaErrors(cudaFree(device));
    for (int i = 0; i < n; i++) expected[i] = i;
    wrong |= !compareData(expected.data(), host.data(), MIN(n, 1000), 0, 0.0f);
    sdkStopTimer(&timer);
    wrong |= !(sdkGetTimerValue(&timer) >= 0.0f);
    sdkDeleteTimer(&timer);
    return wrong;
}
