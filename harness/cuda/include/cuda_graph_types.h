// Graphs of work: nodes, their parameters, and what a stream captures. Names and values are CUDA's.
#pragma once

#include "cuda_device_types.h"
#include "cuda_errors.h"
#include "cuda_texture_types.h"
#include "vector_types.h"

typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct CUgraphNode_st* cudaGraphNode_t;

// NOLINTBEGIN: the names are CUDA's
enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel = 0,
    cudaGraphNodeTypeMemcpy = 1,
    cudaGraphNodeTypeMemset = 2,
    cudaGraphNodeTypeHost = 3,
    cudaGraphNodeTypeGraph = 4,
    cudaGraphNodeTypeEmpty = 5
};
struct cudaKernelNodeParams {
    void* func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void** kernelParams;
    void** extra;
};
struct cudaMemsetParams {
    void* dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
};
struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void* userData;
};
enum cudaGraphInstantiateFlags {
    cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,
    cudaGraphInstantiateFlagUpload = 2,
    cudaGraphInstantiateFlagDeviceLaunch = 4,
    cudaGraphInstantiateFlagUseNodePriority = 8
};
// what updates would tell, so that a program which asks for one is built, and the call refused
enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess = 0,
    cudaGraphExecUpdateError = 1,
    cudaGraphExecUpdateErrorTopologyChanged = 2,
    cudaGraphExecUpdateErrorNodeTypeChanged = 3,
    cudaGraphExecUpdateErrorFunctionChanged = 4,
    cudaGraphExecUpdateErrorParametersChanged = 5,
    cudaGraphExecUpdateErrorNotSupported = 6
};
struct cudaGraphExecUpdateResultInfo {
    enum cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode, errorFromNode;
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2
};

extern "C" {

// ---- capture
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);

// ---- graphs and nodes
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* parameters);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* parameters);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* parameters);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* parameters);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       size_t count, cudaGraph_t child);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);

// ---- what can be launched
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

}  // extern "C"

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags = 0);
/// The form of CUDA 11; nothing is said of what is wrong.
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t* wrong, char* log,
                                 size_t bytes);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     size_t count);
struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
};
/// The form of CUDA 13. An edge that lets the second node begin early is a whole dependency here.
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                            const cudaGraphEdgeData*, size_t count) {
    return cudaGraphAddDependencies(graph, from, to, count);
}

namespace emu::api {

/// A part of graphs that is not emulated: named at the author's line.
cudaError_t no_part_of_graphs(const char* call, const char* what, const char* file, int line);
cudaError_t no_memory_nodes(const char* call);
bool captures(cudaStream_t stream);

}  // namespace emu::api

#define EMU_NO_GRAPH_PART(call, what) ::emu::api::no_part_of_graphs(call, what, __FILE__, __LINE__)
#define cudaGraphExecUpdate(...) EMU_NO_GRAPH_PART("cudaGraphExecUpdate", "updates of CUDA graphs")
#define cudaGraphExecKernelNodeSetParams(...) \
    EMU_NO_GRAPH_PART("cudaGraphExecKernelNodeSetParams", "updates of CUDA graphs")
#define cudaGraphExecMemcpyNodeSetParams(...) \
    EMU_NO_GRAPH_PART("cudaGraphExecMemcpyNodeSetParams", "updates of CUDA graphs")
#define cudaGraphExecMemcpyNodeSetParams1D(...) \
    EMU_NO_GRAPH_PART("cudaGraphExecMemcpyNodeSetParams1D", "updates of CUDA graphs")
#define cudaGraphExecMemsetNodeSetParams(...) \
    EMU_NO_GRAPH_PART("cudaGraphExecMemsetNodeSetParams", "updates of CUDA graphs")
#define cudaGraphExecHostNodeSetParams(...) \
    EMU_NO_GRAPH_PART("cudaGraphExecHostNodeSetParams", "updates of CUDA graphs")
#define cudaGraphExecChildGraphNodeSetParams(...) \
    EMU_NO_GRAPH_PART("cudaGraphExecChildGraphNodeSetParams", "updates of CUDA graphs")
#define cudaGraphKernelNodeSetParams(...) EMU_NO_GRAPH_PART("cudaGraphKernelNodeSetParams", "updates of CUDA graphs")
#define cudaGraphMemcpyNodeSetParams(...) EMU_NO_GRAPH_PART("cudaGraphMemcpyNodeSetParams", "updates of CUDA graphs")
#define cudaGraphMemsetNodeSetParams(...) EMU_NO_GRAPH_PART("cudaGraphMemsetNodeSetParams", "updates of CUDA graphs")
#define cudaGraphHostNodeSetParams(...) EMU_NO_GRAPH_PART("cudaGraphHostNodeSetParams", "updates of CUDA graphs")
#define cudaGraphNodeSetEnabled(...) EMU_NO_GRAPH_PART("cudaGraphNodeSetEnabled", "updates of CUDA graphs")
#define cudaGraphAddMemAllocNode(...) EMU_NO_GRAPH_PART("cudaGraphAddMemAllocNode", "memory nodes of CUDA graphs")
#define cudaGraphAddMemFreeNode(...) EMU_NO_GRAPH_PART("cudaGraphAddMemFreeNode", "memory nodes of CUDA graphs")
// NOLINTEND
