// Graphs: nodes in the order in which they were made, launched in an order that their dependencies allow.
#include "api/graphs.h"

#include <algorithm>
#include <map>
#include <set>

#include "run/state.h"
#include "schedule/scheduler.h"

struct CUgraphExec_st {
    std::vector<std::shared_ptr<CUgraphNode_st>> order;
};

namespace emu {

namespace {

struct Graphs {
    std::set<cudaGraph_t> graphs;
    std::set<cudaGraphExec_t> execs;
};
Graphs& all_graphs() {
    static auto* instance = new Graphs;  // outlives static destructors
    return *instance;
}

cudaError_t known_graph(const char* call, cudaGraph_t graph) {
    if (cudaError_t error = graphs_usable(call)) return error;
    const Exclusive exclusive;
    if (all_graphs().graphs.count(graph)) return cudaSuccess;
    return graph_error(call, cudaErrorInvalidValue, "the graph does not exist");
}

cudaError_t known_exec(const char* call, cudaGraphExec_t exec) {
    if (cudaError_t error = graphs_usable(call)) return error;
    const Exclusive exclusive;
    if (all_graphs().execs.count(exec)) return cudaSuccess;
    return graph_error(call, cudaErrorInvalidValue, "the executable graph does not exist");
}

bool holds(cudaGraph_t graph, cudaGraphNode_t node) {
    return std::any_of(graph->nodes.begin(), graph->nodes.end(), [=](const auto& each) { return each.get() == node; });
}

cudaError_t add_node(const char* call, cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                     size_t count, cudaGraphNodeType type, GraphWork work) {
    if (cudaError_t error = known_graph(call, graph)) return error;
    if (!node) return graph_error(call, cudaErrorInvalidValue, "null pointer for the node");
    if (count && !after) return graph_error(call, cudaErrorInvalidValue, "null pointer for the dependencies");
    for (size_t i = 0; i < count; ++i) {
        if (!holds(graph, after[i])) {
            return graph_error(call, cudaErrorInvalidValue, "a dependency that is no node of the graph");
        }
    }
    const Exclusive exclusive;
    *node = append(graph, type, std::move(work), {after, after + count});
    return cudaSuccess;
}

/// An order that the dependencies allow: that of making in the first schedule, drawn in others. Empty for a circle.
std::vector<std::shared_ptr<CUgraphNode_st>> ordered(const CUgraph_st& graph) {
    std::vector<std::shared_ptr<CUgraphNode_st>> left = graph.nodes, order;
    std::set<cudaGraphNode_t> done;
    Random random(state().seed);
    while (!left.empty()) {
        std::vector<size_t> ready;
        for (size_t i = 0; i < left.size() && (state().seed || ready.empty()); ++i) {
            const auto& after = left[i]->after;
            if (std::all_of(after.begin(), after.end(), [&](auto* node) { return done.count(node) != 0; })) {
                ready.push_back(i);
            }
        }
        if (ready.empty()) return {};
        const size_t next = ready[state().seed ? random.below(ready.size()) : 0];
        done.insert(left[next].get());
        order.push_back(std::move(left[next]));
        left.erase(left.begin() + static_cast<ptrdiff_t>(next));
    }
    return order;
}

cudaError_t do_all(const std::vector<std::shared_ptr<CUgraphNode_st>>& order, cudaStream_t stream) {
    for (const auto& node : order) {
        if (!node->work) continue;
        if (cudaError_t error = node->work(stream)) return error;
        if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    }
    return cudaSuccess;
}

}  // namespace

cudaError_t graph_error(const char* call, cudaError_t error, const char* text) {
    return static_cast<cudaError_t>(fail(call, error, text));
}

cudaError_t graphs_usable(const char* call) {
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    if (has_own_main) return cudaSuccess;
    list_unsupported("CUDA graphs", Site{"", 0});
    return graph_error(call, cudaErrorNotSupported, "graphs are not supported on the emulated device");
}

cudaGraphNode_t append(cudaGraph_t graph, cudaGraphNodeType type, GraphWork work, std::vector<cudaGraphNode_t> after) {
    graph->nodes.push_back(std::make_shared<CUgraphNode_st>(CUgraphNode_st{type, std::move(work), std::move(after)}));
    return graph->nodes.back().get();
}

void keep_graph(cudaGraph_t graph) { all_graphs().graphs.insert(graph); }

namespace api {

bool captures(cudaStream_t stream) { return capturing(stream); }

cudaError_t no_part_of_graphs(const char* call, const char* what, const char* file, int line) {
    list_unsupported(what, Site{file, line});
    state().incomplete = true;
    return graph_error(call, cudaErrorNotSupported, "not supported on the emulated device");
}

cudaError_t no_memory_nodes(const char* call) {
    return no_part_of_graphs(call, "memory nodes of CUDA graphs", "", 0);
}

}  // namespace api

}  // namespace emu

using namespace emu;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    if (cudaError_t error = graphs_usable("cudaGraphCreate")) return error;
    if (!graph) return graph_error("cudaGraphCreate", cudaErrorInvalidValue, "null pointer for the graph");
    const Exclusive exclusive;
    all_graphs().graphs.insert(*graph = new CUgraph_st);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    if (cudaError_t error = known_graph("cudaGraphDestroy", graph)) return error;
    const Exclusive exclusive;
    all_graphs().graphs.erase(graph);
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
    if (cudaError_t error = known_graph("cudaGraphClone", graph)) return error;
    const Exclusive exclusive;
    std::map<cudaGraphNode_t, cudaGraphNode_t> same;
    const cudaGraph_t made = new CUgraph_st;
    for (const auto& node : graph->nodes) same[node.get()] = append(made, node->type, node->work, node->after);
    for (const auto& node : made->nodes) {
        for (cudaGraphNode_t& after : node->after) after = same[after];
    }
    all_graphs().graphs.insert(*clone = made);
    return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* parameters) {
    constexpr const char* kCall = "cudaGraphAddKernelNode";
    if (cudaError_t error = known_graph(kCall, graph)) return error;
    if (!parameters) return graph_error(kCall, cudaErrorInvalidValue, "null pointer for the parameters");
    GraphWork work = kernel_work(kCall, *parameters, __builtin_return_address(0));
    if (!work) return cudaPeekAtLastError();
    return add_node(kCall, node, graph, after, count, cudaGraphNodeTypeKernel, std::move(work));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* parameters) {
    constexpr const char* kCall = "cudaGraphAddMemcpyNode";
    if (!parameters) return graph_error(kCall, cudaErrorInvalidValue, "null pointer for the parameters");
    GraphWork work = copy_3d_work(kCall, __builtin_return_address(0), *parameters);
    return add_node(kCall, node, graph, after, count, cudaGraphNodeTypeMemcpy, std::move(work));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    constexpr const char* kCall = "cudaGraphAddMemcpyNode1D";
    GraphWork work = copy_work(kCall, __builtin_return_address(0), to, from, bytes, kind);
    return add_node(kCall, node, graph, after, count, cudaGraphNodeTypeMemcpy, std::move(work));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* parameters) {
    constexpr const char* kCall = "cudaGraphAddMemsetNode";
    if (!parameters) return graph_error(kCall, cudaErrorInvalidValue, "null pointer for the parameters");
    const unsigned size = parameters->elementSize;
    if (size != 1 && size != 2 && size != 4) {
        return graph_error(kCall, cudaErrorInvalidValue, "elements of a size other than 1, 2 and 4");
    }
    GraphWork work = fill_work(kCall, __builtin_return_address(0), *parameters);
    return add_node(kCall, node, graph, after, count, cudaGraphNodeTypeMemset, std::move(work));
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* parameters) {
    constexpr const char* kCall = "cudaGraphAddHostNode";
    if (!parameters || !parameters->fn) return graph_error(kCall, cudaErrorInvalidValue, "no function");
    const cudaHostNodeParams host = *parameters;
    return add_node(kCall, node, graph, after, count, cudaGraphNodeTypeHost, [=](cudaStream_t) {
        host.fn(host.userData);
        return cudaSuccess;
    });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       size_t count, cudaGraph_t child) {
    constexpr const char* kCall = "cudaGraphAddChildGraphNode";
    if (cudaError_t error = known_graph(kCall, child)) return error;
    const auto order = ordered(*child);
    return add_node(kCall, node, graph, after, count, cudaGraphNodeTypeGraph,
                    [=](cudaStream_t stream) { return do_all(order, stream); });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count) {
    return add_node("cudaGraphAddEmptyNode", node, graph, after, count, cudaGraphNodeTypeEmpty, nullptr);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     size_t count) {
    constexpr const char* kCall = "cudaGraphAddDependencies";
    if (cudaError_t error = known_graph(kCall, graph)) return error;
    for (size_t i = 0; i < count; ++i) {
        if (!holds(graph, from[i]) || !holds(graph, to[i])) {
            return graph_error(kCall, cudaErrorInvalidValue, "a node that is not the graph's");
        }
        to[i]->after.push_back(from[i]);
    }
    return cudaSuccess;
}

namespace {

/// At most as many nodes as there is room for; without room only their number.
cudaError_t list_nodes(const char* call, cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count, bool roots) {
    if (cudaError_t error = known_graph(call, graph)) return error;
    size_t found = 0;
    for (const auto& node : graph->nodes) {
        if (roots && !node->after.empty()) continue;
        if (nodes && found < *count) nodes[found] = node.get();
        ++found;
    }
    if (nodes) {
        for (size_t i = found; i < *count; ++i) nodes[i] = nullptr;
        *count = std::min(*count, found);
    } else {
        *count = found;
    }
    return cudaSuccess;
}

cudaError_t instantiate(const char* call, cudaGraphExec_t* exec, cudaGraph_t graph) {
    if (cudaError_t error = known_graph(call, graph)) return error;
    if (!exec) return graph_error(call, cudaErrorInvalidValue, "null pointer for the executable graph");
    auto order = ordered(*graph);
    if (order.size() != graph->nodes.size()) {
        return graph_error(call, cudaErrorInvalidValue, "the dependencies form a circle");
    }
    const Exclusive exclusive;
    all_graphs().execs.insert(*exec = new CUgraphExec_st{std::move(order)});
    return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return list_nodes("cudaGraphGetNodes", graph, nodes, count, false);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return list_nodes("cudaGraphGetRootNodes", graph, nodes, count, true);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    *type = node->type;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    return instantiate("cudaGraphInstantiate", exec, graph);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
    return instantiate("cudaGraphInstantiate", exec, graph);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    return instantiate("cudaGraphInstantiateWithFlags", exec, graph);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) { return known_exec("cudaGraphUpload", exec); }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    constexpr const char* kCall = "cudaGraphLaunch";
    if (cudaError_t error = known_exec(kCall, exec)) return error;
    if (stream_number(stream) < 0) {
        return graph_error(kCall, cudaErrorInvalidResourceHandle, "the stream does not exist");
    }
    if (cudaError_t error = refused_beside_capture(kCall, stream)) return error;
    const auto order = exec->order;  // a host node may destroy it
    if (!capturing(stream)) return do_all(order, stream);
    return capture_work(kCall, stream, cudaGraphNodeTypeGraph, [=](cudaStream_t into) { return do_all(order, into); });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    if (cudaError_t error = known_exec("cudaGraphExecDestroy", exec)) return error;
    const Exclusive exclusive;
    all_graphs().execs.erase(exec);
    delete exec;
    return cudaSuccess;
}
