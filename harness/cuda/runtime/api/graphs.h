// Graphs of work, and the streams that capture it instead of doing it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cuda_runtime_api.h"

namespace emu {

struct Capture;

/// What a node does when its graph is launched into a stream.
using GraphWork = std::function<cudaError_t(cudaStream_t)>;

}  // namespace emu

struct CUgraphNode_st {
    cudaGraphNodeType type;
    emu::GraphWork work;  // empty: nothing
    std::vector<cudaGraphNode_t> after;
};
struct CUgraph_st {
    std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
};

namespace emu {

cudaError_t graph_error(const char* call, cudaError_t error, const char* text);
/// Graphs are for programs: what answers launch must be counted launch by launch.
cudaError_t graphs_usable(const char* call);
cudaGraphNode_t append(cudaGraph_t graph, cudaGraphNodeType type, GraphWork work, std::vector<cudaGraphNode_t> after);
/// The graph is the program's from now on.
void keep_graph(cudaGraph_t graph);

/// A stream's part in a capture, or that of an event recorded in it.
struct Captured {
    Capture* capture = nullptr;
    std::vector<cudaGraphNode_t> last;  // what the next node comes after
};
/// Of a stream that exists; null for the default streams, which capture nothing.
Captured* captured_by(cudaStream_t stream);
bool waits_for_default(cudaStream_t stream);
/// Visit every stream and event.
void each_captured(const std::function<void(Captured&)>& visit);

extern unsigned captures_under_way;
inline bool capturing(cudaStream_t stream) {
    if (!captures_under_way) return false;
    const Captured* part = captured_by(stream);
    return part && part->capture;
}
/// Work put on a stream that is capturing becomes a node after the stream's last one.
cudaError_t capture_work(const char* call, cudaStream_t stream, cudaGraphNodeType type, GraphWork work);
/// The error of a call that may not be made while streams are capturing, which invalidates their captures; else 0.
cudaError_t refused_in_capture(const char* call);
/// The same for work on a default stream: with that stream the capturing ones are ordered.
cudaError_t refused_beside_capture(const char* call, cudaStream_t stream);
/// Waiting for work that was only captured.
cudaError_t refused_for_captured(const char* call, const Captured& part, cudaError_t error);
/// The stream's next node comes after what the event was recorded behind.
cudaError_t capture_wait(const char* call, cudaStream_t stream, const Captured& event);

/// The work of a launch of a kernel that is known by its address only; empty when it cannot be launched so.
GraphWork kernel_work(const char* call, const cudaKernelNodeParams& parameters, const void* pc);
/// The work of a copy or fill, checked when it is done.
GraphWork copy_work(const char* call, const void* pc, void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
GraphWork copy_3d_work(const char* call, const void* pc, const cudaMemcpy3DParms& copy);
GraphWork fill_work(const char* call, const void* pc, const cudaMemsetParams& fill);

}  // namespace emu
