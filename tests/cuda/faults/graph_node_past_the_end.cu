// A kernel node of a graph writes one element too many; the copy before it is right.
#include <cuda_runtime.h>

__global__ void scale(float* x, float by, int n) {
    int i = threadIdx.x;
    if (i <= n) x[i] = by * i;  // FAULT out_of_bounds
}

int main() {
    float* x;
    int n = 40;
    float by = 2;
    cudaMalloc(&x, n * sizeof(float));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaGraphCreate(&graph, 0);
    void* parameters[] = {&x, &by, &n};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void*)scale;
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(64);
    kernel.kernelParams = parameters;
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel);
    cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
    cudaGraphLaunch(exec, 0);
    cudaDeviceSynchronize();
}
