// What may be done while streams capture, each answer printed; then a graph whose nodes lack a dependency, and an update.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void write(float* x) { x[threadIdx.x] = 1; }
__global__ void read(const float* x, float* out) {
    out[threadIdx.x] = x[threadIdx.x] + 1;
}

void say(const char* what, cudaError_t error) { printf("%s: %s\n", what, cudaGetErrorName(error)); }

cudaStream_t first, second;
float *x, *out;

void captures(cudaStreamCaptureMode mode) { say("begin", cudaStreamBeginCapture(first, mode)); }
cudaGraph_t ends() {
    cudaGraph_t graph = nullptr;
    say("end", cudaStreamEndCapture(first, &graph));
    cudaGetLastError();
    return graph;
}

int main() {
    float host[32];
    void* more = nullptr;
    cudaEvent_t event;
    cudaStreamCreate(&first);
    cudaStreamCreate(&second);
    cudaEventCreate(&event);
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&out, sizeof host);

    captures(cudaStreamCaptureModeGlobal);
    say("cudaMalloc", cudaMalloc(&more, 4));
    ends();
    captures(cudaStreamCaptureModeRelaxed);
    say("cudaMalloc, relaxed", cudaMalloc(&more, 4));
    cudaGraphDestroy(ends());
    captures(cudaStreamCaptureModeGlobal);
    say("synchronous copy", cudaMemcpy(host, x, 4, cudaMemcpyDeviceToHost));
    ends();
    captures(cudaStreamCaptureModeGlobal);
    write<<<1, 32>>>(x);
    say("launch on the default stream", cudaGetLastError());
    ends();
    captures(cudaStreamCaptureModeGlobal);
    say("wait for the stream", cudaStreamSynchronize(first));
    ends();
    captures(cudaStreamCaptureModeGlobal);
    cudaEventRecord(event, first);
    say("other stream joins", cudaStreamWaitEvent(second, event, 0));
    write<<<1, 32, 0, second>>>(x);
    ends();
    say("default stream captures", cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
    say("end without a beginning", cudaStreamEndCapture(first, nullptr));

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t writing, reading;
    cudaGraphCreate(&graph, 0);
    void* parameters[] = {&x, &out};
    cudaKernelNodeParams node = {};
    node.func = (void*)write;
    node.gridDim = dim3(1);
    node.blockDim = dim3(32);
    node.kernelParams = parameters;
    cudaGraphAddKernelNode(&writing, graph, nullptr, 0, &node);
    node.func = (void*)read;
    cudaGraphAddKernelNode(&reading, graph, nullptr, 0, &node);
    say("instantiate", cudaGraphInstantiate(&exec, graph, 0));
    say("launch", cudaGraphLaunch(exec, first));
    cudaGraphAddDependencies(graph, &writing, &reading, 1);
    cudaGraphAddDependencies(graph, &reading, &writing, 1);
    say("circle", cudaGraphInstantiate(&exec, graph, 0));
    say("update", cudaGraphExecKernelNodeSetParams(exec, writing, &node));
    return cudaDeviceSynchronize() != cudaSuccess;
}
