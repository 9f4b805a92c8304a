// Streams and events: work is done at once, so they only say which stream it was put on.
#include "api/streams.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "api/graphs.h"
#include "cuda_runtime_api.h"
#include "run/state.h"

struct CUstream_st {
    unsigned number;
    unsigned flags;
    int priority;
    bool by_program;
    emu::Captured part{};
};
struct CUevent_st {
    unsigned flags;
    bool recorded;
    emu::Captured part{};  // where it was recorded last
};

namespace emu {

namespace {

struct Handles {
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> events;
    unsigned next = 1;
    bool program = false;
    bool clock_asked = false;
};
Handles& handles() {
    static auto* instance = new Handles;
    return *instance;
}

bool is_default(const void* stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

cudaError_t answer(const char* call, int error, const char* text) {
    return static_cast<cudaError_t>(fail(call, error, text));
}

/// The error that every call returns from a fault on, else what is wrong with the stream.
cudaError_t usable(const char* call, cudaStream_t stream) {
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    if (stream_number(stream) >= 0) return cudaSuccess;
    return answer(call, cudaErrorInvalidResourceHandle, "the stream does not exist");
}

bool known(cudaEvent_t event) {
    const Exclusive exclusive;
    auto& events = handles().events;
    return std::find(events.begin(), events.end(), event) != events.end();
}

cudaError_t usable(const char* call, cudaEvent_t event) {
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    if (known(event)) return cudaSuccess;
    return answer(call, cudaErrorInvalidResourceHandle, "the event does not exist");
}

}  // namespace

void* create_stream(unsigned flags, int priority) {
    const Exclusive exclusive;
    Handles& h = handles();
    h.streams.push_back(new CUstream_st{h.next++, flags, priority, h.program});
    return h.streams.back();
}

void start_streams() {
    Handles& h = handles();
    h.program = true;
    h.next = 1;
    for (cudaStream_t stream : h.streams) {
        if (!stream->by_program) h.next = std::max(h.next, stream->number + 1);
    }
}

int stream_number(const void* stream) {
    const Exclusive exclusive;
    if (is_default(stream)) return 0;
    for (cudaStream_t known : handles().streams) {
        if (known == stream) return static_cast<int>(known->number);
    }
    return -1;
}

Captured* captured_by(cudaStream_t stream) { return is_default(stream) ? nullptr : &stream->part; }

bool waits_for_default(cudaStream_t stream) { return !is_default(stream) && !(stream->flags & cudaStreamNonBlocking); }

void each_captured(const std::function<void(Captured&)>& visit) {
    for (cudaStream_t stream : handles().streams) visit(stream->part);
    for (cudaEvent_t event : handles().events) visit(event->part);
}

namespace {

/// Waiting for a stream: not while it captures.
cudaError_t wait_for(const char* call, cudaStream_t stream) {
    if (cudaError_t error = usable(call, stream)) return error;
    if (cudaError_t error = refused_beside_capture(call, stream)) return error;
    if (!capturing(stream)) return cudaSuccess;
    return refused_for_captured(call, *captured_by(stream), cudaErrorStreamCaptureUnsupported);
}

cudaError_t wait_for(const char* call, cudaEvent_t event) {
    if (cudaError_t error = usable(call, event)) return error;
    return refused_for_captured(call, event->part, cudaErrorCapturedEvent);
}

}  // namespace

}  // namespace emu

using namespace emu;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    if (!stream) return answer("cudaStreamCreate", cudaErrorInvalidValue, "null pointer for the stream");
    *stream = static_cast<cudaStream_t>(create_stream(flags, priority));
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (is_default(stream)) return answer("cudaStreamDestroy", cudaErrorInvalidResourceHandle, "a default stream");
    if (cudaError_t error = usable("cudaStreamDestroy", stream)) return error;
    const Exclusive exclusive;
    auto& streams = handles().streams;
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return wait_for("cudaStreamSynchronize", stream); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return wait_for("cudaStreamQuery", stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (cudaError_t error = usable("cudaStreamWaitEvent", stream)) return error;
    if (cudaError_t error = usable("cudaStreamWaitEvent", event)) return error;
    return capture_wait("cudaStreamWaitEvent", stream, event->part);
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    if (cudaError_t error = usable("cudaStreamGetFlags", stream)) return error;
    *flags = is_default(stream) ? cudaStreamDefault : stream->flags;
    return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    if (cudaError_t error = usable("cudaStreamGetPriority", stream)) return error;
    *priority = is_default(stream) ? 0 : stream->priority;
    return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
    if (cudaError_t error = usable("cudaStreamAddCallback", stream)) return error;
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    if (cudaError_t error = usable("cudaLaunchHostFunc", stream)) return error;
    if (cudaError_t error = refused_beside_capture("cudaLaunchHostFunc", stream)) return error;
    if (capturing(stream)) {
        return capture_work("cudaLaunchHostFunc", stream, cudaGraphNodeTypeHost, [=](cudaStream_t) {
            function(data);
            return cudaSuccess;
        });
    }
    function(data);
    return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) {
    return usable("cudaStreamAttachMemAsync", stream);
}
// only hints to the cache are known, which mean nothing here
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue*) {
    return usable("cudaStreamSetAttribute", stream);
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID, cudaStreamAttrValue* value) {
    *value = cudaStreamAttrValue{};
    return usable("cudaStreamGetAttribute", stream);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    if (!event) return answer("cudaEventCreate", cudaErrorInvalidValue, "null pointer for the event");
    *event = new CUevent_st{flags, false};
    const Exclusive exclusive;
    handles().events.push_back(*event);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) { return cudaEventCreateWithFlags(event, flags); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (cudaError_t error = usable("cudaEventDestroy", event)) return error;
    auto& events = handles().events;
    events.erase(std::find(events.begin(), events.end(), event));
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (cudaError_t error = usable("cudaEventRecord", stream)) return error;
    if (cudaError_t error = usable("cudaEventRecord", event)) return error;
    if (cudaError_t error = refused_beside_capture("cudaEventRecord", stream)) return error;
    event->part = capturing(stream) ? *captured_by(stream) : Captured{};
    event->recorded = !event->part.capture;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return wait_for("cudaEventSynchronize", event); }
cudaError_t cudaEventQuery(cudaEvent_t event) { return wait_for("cudaEventQuery", event); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (cudaError_t error = usable("cudaEventElapsedTime", start)) return error;
    if (cudaError_t error = usable("cudaEventElapsedTime", end)) return error;
    if (!start->recorded || !end->recorded) {
        return answer("cudaEventElapsedTime", cudaErrorInvalidResourceHandle, "an event that was never recorded");
    }
    if (!handles().clock_asked) std::fprintf(stderr, "emulated device: no clock, all elapsed times are 0\n");
    handles().clock_asked = true;
    *milliseconds = 0.0f;
    return cudaSuccess;
}
