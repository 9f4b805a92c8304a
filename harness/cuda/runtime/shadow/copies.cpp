#include "shadow/copies.h"

#include <algorithm>
#include <vector>

#include "run/defects.h"
#include "run/state.h"

namespace emu {

namespace {

constexpr size_t kMaxSources = 64;
constexpr size_t kNear = 1024;  // bytes between two copies that count as one

/// Copies of variables in which nothing had been written.
struct Source {
    Defect defect;     // of the read
    uintptr_t begin;   // where copies of it lie
    uintptr_t end;
};

struct Copies {
    std::vector<Source> sources;
    std::vector<const void*> partial;  // reads of this launch of variables that are written in part
};
Copies& copies() {
    static auto* instance = new Copies;
    return *instance;
}

bool nothing_written(uintptr_t address) {
    Shadow& s = shadow();
    if (s.arena.contains(address)) {
        const Extent& extent = s.extent_at(s.arena.offset(address));
        return extent.end > extent.begin && s.arena.written.range_none(extent.begin, extent.end - extent.begin);
    }
    const size_t offset = s.shared.offset(address);
    for (const SharedVariable& variable : shared_variables()) {
        if (offset - variable.offset < variable.bytes) return s.shared.written.range_none(variable.offset, variable.bytes);
    }
    return false;
}

}  // namespace

void note_copy(const Copied& copied) {
    Copies& h = copies();
    const uintptr_t to = copied.to;
    for (Source& source : h.sources) {
        if (source.defect.pc != copied.read.pc || to + kNear < source.begin || to > source.end + kNear) continue;
        source.begin = std::min(source.begin, to);
        source.end = std::max<uintptr_t>(source.end, to + copied.width);
        return;
    }
    if (h.sources.size() >= kMaxSources) return;
    if (std::find(h.partial.begin(), h.partial.end(), copied.read.pc) != h.partial.end()) return;
    if (!nothing_written(copied.read.address)) {
        h.partial.push_back(copied.read.pc);
        return;
    }
    // nothing but this copy will ever tell of shared memory
    if (shadow().shared.contains(copied.read.address)) report_unwritten(copied.read, copied.block, copied.thread);
    else h.sources.push_back(Source{unwritten_defect(copied.read), to, to + copied.width});
}

void copies_launch() { copies().partial.clear(); }

void unwritten_start() { copies().sources.clear(); }

void unwritten_forget(uintptr_t address, size_t bytes) {
    auto& sources = copies().sources;
    auto lies_there = [=](const Source& s) { return s.begin < address + bytes && address < s.end; };
    sources.erase(std::remove_if(sources.begin(), sources.end(), lies_there), sources.end());
}

void unwritten_leaves(uintptr_t address, size_t bytes) {
    auto& sources = copies().sources;
    const Region& arena = shadow().arena;
    for (auto source = sources.begin(); source != sources.end();) {
        const uintptr_t begin = std::max(source->begin, address), end = std::min(source->end, address + bytes);
        if (begin >= end || arena.written.range_all(arena.offset(begin), end - begin)) {
            ++source;
            continue;
        }
        source->defect.text += "; the host reads a copy of it";
        report(source->defect);
        source = sources.erase(source);
    }
}

}  // namespace emu
