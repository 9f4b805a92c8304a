// What lives from one emu_start to the next: errors, streams, and what the report lists.
#pragma once

#include <string>
#include <vector>

#include "memory/memory.h"
#include "run/defects.h"
#include "run/records.h"
#include "schedule/host_threads.h"

namespace emu {

constexpr size_t kMaxDefects = 64;
constexpr size_t kMaxLaunches = 256;
constexpr size_t kMaxListed = 256;  // of every other list
constexpr size_t kMaxText = 400;    // characters of a text

struct KeptDefect {
    Defect defect;
    std::string kernel;  // empty: host code
    uint64_t launch = 0;
    bool in_kernel = false;
    uint64_t count = 1;
};

struct ApiError {
    std::string call;
    int error;
    std::string text;
};

struct UnsupportedUse {
    std::string what;
    std::string file;
    int line;
};

struct CopyRecord {
    size_t bytes;
    const char* direction;  // h2d | d2h | d2d | h2h | set
    unsigned stream;
    bool synchronous;
};

struct AllocationNote {
    unsigned number;
    std::string name;
    size_t bytes;
    AllocationKind kind;
    bool freed;
    bool by_program;
};

struct State {
    uint64_t seed = 0;
    uint64_t launches = 0;  // since emu_start
    uint64_t launches_unlisted = 0;  // of which there is no record: there were too many
    uint64_t launches_not_run = 0;  // after an error that ended the context, or with an invalid configuration
    bool truncated = false;
    bool blocks_waited = false;  // one for another that had not begun
    uint64_t blocks_run = 0, blocks_launched = 0;  // where samples of them are run
    std::vector<KeptDefect> defects;
    std::vector<LaunchRecord> records;
    std::vector<ApiError> api_errors;
    std::vector<UnsupportedUse> unsupported;
    std::vector<CopyRecord> copies;
    std::vector<AllocationNote> allocations;
    size_t bytes_in_use = 0, peak_bytes = 0;  // of the program
    std::vector<unsigned> kernel_streams;  // in order of first use
    uint64_t device_syncs = 0;
    int last_error = 0;    // cleared by cudaGetLastError
    bool short_of_memory = false;  // where a GPU would not have been
    bool incomplete = false;  // a launch was left out: what follows may rest on values that nobody has computed
    int sticky_error = 0;  // the context's end; cleared by emu_start only
};

State& state();
/// Whether the program has a main of its own: a launch that cannot be run costs that launch, and the rest goes on.
extern bool has_own_main;

/// Append, or say that the report is cut.
template <class T>
void list(std::vector<T>& items, T item) {
    if (in_share) give_up_share();
    const Exclusive exclusive;
    if (items.size() < kMaxListed) items.push_back(std::move(item));
    else state().truncated = true;
}

/// A call failed: it is listed, the error is the last one, and is returned.
int fail(const char* call, int error, const std::string& text);
/// Something this device cannot do was asked for by host code, which goes on.
void list_unsupported(const char* what, Site site);
const char* error_name(int error);
const char* error_text(int error);

/// The number in reports of a `cudaStream_t`, or -1 when it is none. The default streams are 0.
int stream_number(const void* stream);

}  // namespace emu
