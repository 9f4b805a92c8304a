// A captured copy is launched once more after its buffer was freed.
#include <cuda_runtime.h>

__global__ void fill(float* x) { x[threadIdx.x] = threadIdx.x; }

int main() {
    float *x, *host;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMalloc(&x, 64 * sizeof(float));
    cudaMallocHost(&host, 64 * sizeof(float));
    cudaStreamCreate(&stream);
    fill<<<1, 64, 0, stream>>>(x);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemcpyAsync(host, x, 64 * sizeof(float), cudaMemcpyDeviceToHost, stream);  // FAULT use_after_free
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaFree(x);
    cudaGraphLaunch(exec, stream);
    return cudaStreamSynchronize(stream) != cudaSuccess;
}
