#include "run/report.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>

#include "memory/memory.h"
#include "observe/observer.h"
#include "run/json.h"
#include "run/state.h"

namespace emu {

namespace {

// A character that is cut in two is no UTF-8.
std::string cut(std::string text) {
    if (text.size() <= kMaxText) return text;
    size_t end = kMaxText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end) + "...";
}

void text_or_null(Json& json, const char* key, const char* text) {
    json.key(key);
    if (text && *text) json.string(cut(text));
    else json.null();
}

// As the file that it was loaded from counts: position-independent or not. Inside the instruction, which ends where the
// return address points.
void write_pc(Json& json, const void* pc) {
    json.key("pc");
    Dl_info info;
    link_map* map = nullptr;
    if (!pc || !dladdr1(pc, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) {
        json.null();
        return;
    }
    json.number(reinterpret_cast<uintptr_t>(pc) - 1 - map->l_addr);
}

void write_site(Json& json, const Site& site) {
    text_or_null(json, "file", site.file);
    json.key("line");
    if (site.file && site.line > 0) json.signed_number(site.line);
    else json.null();
}

void write_index(Json& json, const char* key, const Index& index) {
    json.key(key).open('[').number(index.x).number(index.y).number(index.z).close(']');
}

void write_other(Json& json, const OtherSide& other) {
    json.key("other");
    if (!other.known) {
        json.null();
        return;
    }
    json.open('{');
    text_or_null(json, "access", other.access);
    write_index(json, "block", other.block);
    write_index(json, "thread", other.thread);
    write_pc(json, other.pc);
    write_site(json, other.site);
    json.close('}');
}

void write_defect(Json& json, const KeptDefect& kept) {
    const Defect& d = kept.defect;
    json.open('{').key("kind").string(d.kind).key("severity").string(d.severity).key("text").string(cut(d.text));
    text_or_null(json, "kernel", kept.kernel.c_str());
    json.key("launch");
    kept.in_kernel ? json.number(kept.launch) : json.null();
    if (kept.in_kernel) {
        write_index(json, "block", d.block);
        write_index(json, "thread", d.thread);
    } else {
        json.key("block").null().key("thread").null();
    }
    text_or_null(json, "space", d.space);
    text_or_null(json, "access", d.access);
    json.key("bytes");
    d.bytes ? json.number(d.bytes) : json.null();
    text_or_null(json, "buffer", d.buffer.c_str());
    json.key("offset");
    d.buffer.empty() ? json.null() : json.signed_number(d.offset);
    write_pc(json, d.pc);
    write_site(json, d.site);
    json.key("count").number(kept.count);
    write_other(json, d.other);
    json.close('}');
}

void write_global(Json& json, const char* key, const GlobalTraffic& t) {
    json.key(key).open('{').key("bytes").number(t.bytes).key("requests").number(t.requests)
        .key("sectors").number(t.sectors);
    json.key("ideal_sectors").number(t.ideal_sectors).close('}');
}

void write_shared(Json& json, const char* key, const SharedTraffic& t) {
    json.key(key).open('{').key("bytes").number(t.bytes).key("requests").number(t.requests);
    json.key("wavefronts").number(t.wavefronts).key("ideal_wavefronts").number(t.ideal_wavefronts);
    json.key("lone_requests").number(t.lone_requests).close('}');
}

void write_buffer(Json& json, const std::string& name, const BufferTraffic& t) {
    json.key(cut(name).c_str()).open('{').key("read_bytes").number(t.read_bytes)
        .key("written_bytes").number(t.written_bytes);
    json.key("atomic_bytes").number(t.atomic_bytes).key("read_sectors").number(t.read_sectors);
    json.key("written_sectors").number(t.written_sectors).key("unique_read_bytes").number(t.unique_read_bytes);
    json.key("unique_written_bytes").number(t.unique_written_bytes).close('}');
}

void write_arithmetic(Json& json, const Arithmetic& a) {
    static const char* const numbers[kNumbers] = {"half", "bfloat16", "float", "double", "tensor"};
    static const char* const operations[kOperations] = {"add", "multiply", "fused", "divide", "function"};
    json.key("arithmetic").open('{');
    for (unsigned number = 0; number < kNumbers; ++number) {
        if (std::all_of(a.counts[number], a.counts[number] + kOperations, [](uint64_t n) { return n == 0; })) continue;
        json.key(numbers[number]).open('{');
        for (unsigned i = 0; i < kOperations; ++i) json.key(operations[i]).number(a.counts[number][i]);
        json.close('}');
    }
    json.close('}');
}

void write_launch(Json& json, const LaunchRecord& r) {
    json.open('{').key("kernel").string(cut(r.kernel));
    write_index(json, "grid", r.grid);
    write_index(json, "block", r.block);
    json.key("static_shared").number(r.static_shared).key("dynamic_shared").number(r.dynamic_shared);
    json.key("stream").number(r.stream).key("threads").number(r.threads);
    json.key("finished").boolean(r.finished).key("approximate").boolean(r.approximate);
    write_global(json, "global_load", r.global_load);
    write_global(json, "global_store", r.global_store);
    write_global(json, "global_atomic", r.global_atomic);
    write_shared(json, "shared_load", r.shared_load);
    write_shared(json, "shared_store", r.shared_store);
    write_shared(json, "shared_atomic", r.shared_atomic);
    if (arithmetic_is_counted()) write_arithmetic(json, r.arithmetic);
    json.key("local_spill_bytes").null();
    json.key("barriers").number(r.barriers).key("warp_meetings").number(r.warp_meetings).key("buffers").open('{');
    size_t listed = 0;
    for (const auto& [name, traffic] : r.buffers) {
        if (++listed > kMaxListed) break;
        write_buffer(json, name, traffic);
    }
    json.close('}').key("count").number(r.count).close('}');
}

const char* kind_name(AllocationKind kind) {
    return kind == AllocationKind::Device ? "device" : kind == AllocationKind::Managed ? "managed" : "host";
}

void write_memory(Json& json, size_t leaked) {
    const State& s = state();
    json.key("memory").open('{').key("allocations").open('[');
    for (const AllocationNote& a : s.allocations) {
        json.open('{').key("name").string(cut(a.name)).key("bytes").number(a.bytes)
            .key("kind").string(kind_name(a.kind));
        json.key("freed").boolean(a.freed).key("by_program").boolean(a.by_program).close('}');
    }
    json.close(']').key("peak_bytes").number(s.peak_bytes).key("leaked_bytes").number(leaked).close('}');
}

void write_streams(Json& json) {
    const State& s = state();
    auto streams = s.kernel_streams;
    std::sort(streams.begin(), streams.end());
    json.key("streams").open('{').key("kernel_streams").open('[');
    for (unsigned stream : streams) json.number(stream);
    json.close(']').key("copies").open('[');
    for (const CopyRecord& copy : s.copies) {
        json.open('{').key("bytes").number(copy.bytes).key("direction").string(copy.direction)
            .key("stream").number(copy.stream);
        json.key("synchronous").boolean(copy.synchronous).close('}');
    }
    json.close(']').key("device_syncs").number(s.device_syncs).close('}');
}

void write_problems(Json& json) {
    const State& s = state();
    json.key("api_errors").open('[');
    for (const ApiError& e : s.api_errors) {
        json.open('{').key("call").string(e.call).key("error").string(error_name(e.error))
            .key("text").string(cut(e.text)).close('}');
    }
    json.close(']').key("unsupported").open('[');
    for (const UnsupportedUse& u : s.unsupported) {
        json.open('{').key("what").string(cut(u.what)).key("file").string(cut(u.file))
            .key("line").signed_number(u.line).close('}');
    }
    json.close(']');
}

/// What the program allocated and has not freed, as defects of no weight.
std::vector<KeptDefect> leaks(size_t& bytes) {
    struct Found {
        std::vector<KeptDefect> defects;
        size_t bytes = 0;
    } found;
    each_allocation(
        [](Allocation& a, void* context) {
            if (a.freed || !a.by_program) return;
            auto& found = *static_cast<Found*>(context);
            found.bytes += a.bytes;
            KeptDefect kept;
            kept.defect.kind = "leaked";
            kept.defect.severity = kInfo;
            kept.defect.text = "`" + a.name + "` (" + std::to_string(a.bytes) + " bytes) is never freed";
            kept.defect.pc = a.pc;
            kept.defect.buffer = a.name;
            found.defects.push_back(std::move(kept));
        },
        &found);
    bytes = found.bytes;
    return found.defects;
}

}  // namespace

std::string defect_text(const KeptDefect& kept) {
    Json json;
    write_defect(json, kept);
    return json.text();
}

std::string launch_text(const LaunchRecord& record) {
    Json json;
    write_launch(json, record);
    return json.text();
}

std::string report_text() {
    State& s = state();
    size_t leaked = 0;
    std::vector<KeptDefect> defects = s.defects;
    for (KeptDefect& leak : leaks(leaked)) {
        if (defects.size() < kMaxDefects) defects.push_back(std::move(leak));
    }
    Json json;
    json.open('{').key("version").number(1).key("mode").number(mode).key("seed").number(s.seed)
        .key("defects").open('[');
    for (const KeptDefect& kept : defects) write_defect(json, kept);
    json.close(']').key("launches").open('[');
    for (const LaunchRecord& record : s.records) write_launch(json, record);
    json.close(']');
    write_memory(json, leaked);
    write_streams(json);
    write_problems(json);
    json.key("blocks_waited").boolean(s.blocks_waited);
    json.key("launches_not_run").number(s.launches_not_run);
    if (s.launches_unlisted) json.key("launches_unlisted").number(s.launches_unlisted);
    if (s.blocks_launched) json.key("blocks_run").number(s.blocks_run).key("blocks_launched").number(s.blocks_launched);
    return json.key("truncated").boolean(s.truncated).close('}').text();
}

}  // namespace emu
