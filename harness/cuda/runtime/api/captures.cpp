// Streams that capture: what is put on them becomes nodes of a graph, and what may not be done meanwhile is refused.
#include <algorithm>
#include <set>

#include "api/graphs.h"
#include "run/state.h"

namespace emu {

struct Capture {
    cudaGraph_t graph;
    cudaStream_t origin;
    cudaStreamCaptureMode mode;
    bool broken = false;
};

unsigned captures_under_way = 0;

namespace {

std::vector<Capture*>& all_captures() {
    static auto* instance = new std::vector<Capture*>;  // outlives static destructors
    return *instance;
}

void break_off(Capture* capture) { capture->broken = true; }

/// Everything that the nodes come after, themselves included.
std::set<cudaGraphNode_t> reached_from(std::vector<cudaGraphNode_t> waiting) {
    std::set<cudaGraphNode_t> reached;
    while (!waiting.empty()) {
        const cudaGraphNode_t node = waiting.back();
        waiting.pop_back();
        if (!reached.insert(node).second) continue;
        waiting.insert(waiting.end(), node->after.begin(), node->after.end());
    }
    return reached;
}

}  // namespace

cudaError_t capture_work(const char* call, cudaStream_t stream, cudaGraphNodeType type, GraphWork work) {
    const Exclusive exclusive;
    Captured& part = *captured_by(stream);
    if (part.capture->broken) return graph_error(call, cudaErrorStreamCaptureInvalidated, "the capture is invalid");
    part.last = {append(part.capture->graph, type, std::move(work), part.last)};
    return cudaSuccess;
}

cudaError_t refused_in_capture(const char* call) {
    if (!captures_under_way) return cudaSuccess;
    const Exclusive exclusive;
    bool any = false;
    for (Capture* capture : all_captures()) {
        if (capture->mode != cudaStreamCaptureModeGlobal) continue;
        break_off(capture);
        any = true;
    }
    if (!any) return cudaSuccess;
    return graph_error(call, cudaErrorStreamCaptureUnsupported, "not allowed while a stream is capturing");
}

cudaError_t refused_beside_capture(const char* call, cudaStream_t stream) {
    const bool legacy = reinterpret_cast<uintptr_t>(stream) <= 1;
    if (!captures_under_way || !legacy) return cudaSuccess;
    const Exclusive exclusive;
    bool any = false;
    for (Capture* capture : all_captures()) {
        if (!waits_for_default(capture->origin)) continue;
        break_off(capture);
        any = true;
    }
    if (!any) return cudaSuccess;
    return graph_error(call, cudaErrorStreamCaptureImplicit,
                       "work on the default stream while a stream that waits for it is capturing");
}

cudaError_t refused_for_captured(const char* call, const Captured& part, cudaError_t error) {
    if (!part.capture) return cudaSuccess;
    break_off(part.capture);
    return graph_error(call, error, "what it waits for is only captured");
}

cudaError_t capture_wait(const char* call, cudaStream_t stream, const Captured& event) {
    const Exclusive exclusive;
    Captured* part = captured_by(stream);
    Capture* own = part ? part->capture : nullptr;
    if (!own && !event.capture) return cudaSuccess;
    if (!part) {
        break_off(event.capture);
        return graph_error(call, cudaErrorStreamCaptureImplicit, "the default stream cannot join a capture");
    }
    if (!event.capture) {
        break_off(own);
        return graph_error(call, cudaErrorStreamCaptureIsolation, "the event was recorded outside of the capture");
    }
    if (own && own != event.capture) {
        break_off(own);
        break_off(event.capture);
        return graph_error(call, cudaErrorStreamCaptureMerge, "the event belongs to another capture");
    }
    part->capture = event.capture;
    for (cudaGraphNode_t node : event.last) {
        if (std::find(part->last.begin(), part->last.end(), node) == part->last.end()) part->last.push_back(node);
    }
    return cudaSuccess;
}

}  // namespace emu

using namespace emu;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    constexpr const char* kCall = "cudaStreamBeginCapture";
    if (cudaError_t error = graphs_usable(kCall)) return error;
    if (stream_number(stream) < 0) {
        return graph_error(kCall, cudaErrorInvalidResourceHandle, "the stream does not exist");
    }
    const Exclusive exclusive;
    Captured* part = captured_by(stream);
    if (!part) return graph_error(kCall, cudaErrorStreamCaptureUnsupported, "a default stream captures nothing");
    if (part->capture) return graph_error(kCall, cudaErrorIllegalState, "the stream is capturing already");
    const cudaGraph_t graph = new CUgraph_st;
    part->capture = new Capture{graph, stream, mode};
    part->last.clear();
    all_captures().push_back(part->capture);
    ++captures_under_way;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    constexpr const char* kCall = "cudaStreamEndCapture";
    if (cudaError_t error = graphs_usable(kCall)) return error;
    if (stream_number(stream) < 0) {
        return graph_error(kCall, cudaErrorInvalidResourceHandle, "the stream does not exist");
    }
    const Exclusive exclusive;
    if (graph) *graph = nullptr;
    Captured* part = captured_by(stream);
    if (!part || !part->capture) return graph_error(kCall, cudaErrorIllegalState, "the stream is not capturing");
    Capture* capture = part->capture;
    if (capture->origin != stream) {
        break_off(capture);
        return graph_error(kCall, cudaErrorStreamCaptureUnmatched, "the capture began on another stream");
    }
    const std::set<cudaGraphNode_t> joined = reached_from(part->last);
    const size_t nodes = capture->graph->nodes.size();
    each_captured([&](Captured& each) {
        if (each.capture == capture) each = Captured{};
    });
    auto& captures = all_captures();
    captures.erase(std::find(captures.begin(), captures.end(), capture));
    --captures_under_way;
    const std::unique_ptr<Capture> ended(capture);
    if (!ended->broken && joined.size() == nodes && graph) {
        keep_graph(*graph = ended->graph);
        return cudaSuccess;
    }
    delete ended->graph;
    if (ended->broken) return graph_error(kCall, cudaErrorStreamCaptureInvalidated, "the capture is invalid");
    if (!graph) return graph_error(kCall, cudaErrorInvalidValue, "null pointer for the graph");
    return graph_error(kCall, cudaErrorStreamCaptureUnjoined, "another stream has work that the first does not wait for");
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    if (stream_number(stream) < 0) {
        return graph_error("cudaStreamIsCapturing", cudaErrorInvalidResourceHandle, "the stream does not exist");
    }
    if (capturing(stream)) {
        *status = captured_by(stream)->capture->broken ? cudaStreamCaptureStatusInvalidated
                                                       : cudaStreamCaptureStatusActive;
    }
    return static_cast<cudaError_t>(state().sticky_error);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    static thread_local cudaStreamCaptureMode own = cudaStreamCaptureModeGlobal;
    std::swap(own, *mode);
    return cudaSuccess;
}
