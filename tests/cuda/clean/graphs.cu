// Graphs: captured from two streams that wait for each other, and made of nodes; launched more than once.
#include "device.h"

__global__ void fill(float* x, float value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}
__global__ void add(float* sum, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}
struct Line {
    double slope;
    char unused;
    float shift;
};
__global__ void along(float* x, Line line, char times, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += times * (static_cast<float>(line.slope) * i + line.shift);
}
template <class... T>
__global__ void sum_of(float* out, T... values) {
    if (threadIdx.x == 0) *out += (static_cast<float>(values) + ...);
}

const int n = 700;

// Two streams fill a and b, the first adds them once the second is done; what the host writes between launches counts.
void captured(float* a, float* b, float* sum, float* host) {
    cudaStream_t first, second;
    cudaEvent_t begun, filled;
    cudaStreamCreate(&first);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreate(&begun);
    cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    must(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal), "begin");
    cudaEventRecord(begun, first);
    cudaStreamWaitEvent(second, begun, 0);
    fill<<<3, 256, 0, first>>>(a, 1.0f, n);
    cudaMemcpyAsync(b, host, n * sizeof(float), cudaMemcpyHostToDevice, second);
    cudaStreamIsCapturing(second, &status);
    if (status != cudaStreamCaptureStatusActive) std::exit(2);
    cudaEventRecord(filled, second);
    cudaStreamWaitEvent(first, filled, 0);
    add<<<3, 256, 0, first>>>(sum, a, b, n);
    must(cudaStreamEndCapture(first, &graph), "end");
    must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < n; ++j) host[j] = static_cast<float>(i + j);
        must(cudaGraphLaunch(exec, second), "launch");
        cudaStreamSynchronize(second);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
}

// sum = 2 * sum along a line, by nodes that are made in another order than they run in
void explicit_nodes(float* sum, float* total, float* host) {
    cudaGraph_t graph, clone;
    cudaGraphNode_t line, copy, clear, empty, back;
    cudaGraphExec_t exec;
    must(cudaGraphCreate(&graph, 0), "create");
    Line values{2.0, 0, 1.0f};
    char times = 3;
    int count = n;
    void* parameters[] = {&sum, &values, &times, &count};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(along);
    kernel.gridDim = dim3(3);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = parameters;
    must(cudaGraphAddMemcpyNode1D(&back, graph, nullptr, 0, host, sum, n * sizeof(float), cudaMemcpyDeviceToHost), "back");
    must(cudaGraphAddKernelNode(&line, graph, nullptr, 0, &kernel), "kernel");
    values.slope = 100;  // what the node does was settled when it was made
    cudaMemsetParams zeros{};
    zeros.dst = total;
    zeros.elementSize = 4;
    zeros.width = 1;
    zeros.height = 1;
    must(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zeros), "memset");
    must(cudaGraphAddEmptyNode(&empty, graph, &line, 1), "empty");
    must(cudaGraphAddDependencies(graph, &empty, &back, nullptr, 1), "dependency");
    float one = 1, half = 0.5f;
    int two = 2;
    void* several[] = {&total, &one, &two, &half};
    kernel.func = reinterpret_cast<void*>(&sum_of<float, int, float>);
    kernel.gridDim = dim3(1);
    kernel.kernelParams = several;
    must(cudaGraphAddKernelNode(&copy, graph, &clear, 1, &kernel), "kernel of a template");
    size_t nodes = 0;
    cudaGraphGetNodes(graph, nullptr, &nodes);
    must(cudaGraphClone(&clone, graph), "clone");
    must(cudaGraphInstantiate(&exec, clone, nullptr, nullptr, 0), "instantiate");
    must(cudaGraphLaunch(exec, nullptr), "launch");
    must(cudaDeviceSynchronize(), "graph");
    if (nodes != 5) std::exit(2);
    // the same kernel by its address alone
    must(cudaLaunchKernel(reinterpret_cast<const void*>(&sum_of<float, int, float>), dim3(1), dim3(32), several, 0, nullptr), "launch");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(clone);
    cudaGraphDestroy(graph);
}

int main() {
    float *a, *b, *sum, *total, *host;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMalloc(&sum, n * sizeof(float));
    cudaMalloc(&total, sizeof(float));
    cudaMallocHost(&host, n * sizeof(float));
    captured(a, b, sum, host);
    explicit_nodes(sum, total, host);
    std::vector<float> got(host, host + n), right(n);
    for (int i = 0; i < n; ++i) right[i] = 1.0f + i + 2 + 3 * (2.0f * i + 1);
    float together = 0;
    cudaMemcpy(&together, total, sizeof(float), cudaMemcpyDeviceToHost);
    got.push_back(together);
    right.push_back(7.0f);
    cudaFree(a);
    cudaFree(b);
    cudaFree(sum);
    cudaFree(total);
    cudaFreeHost(host);
    return compare(got, right, 0);
}
