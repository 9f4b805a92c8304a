// This module (the answer's library, or the program) in memory: where it lies, and which of it is constant.
#include <link.h>

#include <vector>

#include "shadow/shadow.h"

namespace emu {

namespace {

struct Module {
    uintptr_t base = 0;
    uintptr_t end = 0;
    std::vector<std::pair<uintptr_t, uintptr_t>> constants;  // [begin, end) that nobody writes once it is loaded
};

bool holds(const dl_phdr_info& info, uintptr_t address) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info.dlpi_phdr[i];
        if (header.p_type == PT_LOAD && address - (info.dlpi_addr + header.p_vaddr) < header.p_memsz) return true;
    }
    return false;
}

int visit(dl_phdr_info* info, size_t, void* context) {
    auto* module = static_cast<Module*>(context);
    if (!holds(*info, reinterpret_cast<uintptr_t>(&visit))) return 0;
    module->base = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        const uintptr_t end = begin + header.p_memsz;
        if (header.p_type == PT_LOAD) {
            if (begin < module->base) module->base = begin;
            if (end > module->end) module->end = end;
        }
        const bool constant = header.p_type == PT_GNU_RELRO || (header.p_type == PT_LOAD && !(header.p_flags & PF_W));
        if (constant) module->constants.emplace_back(begin, end);
    }
    return 1;
}

const Module& module() {
    static const Module* instance = [] {
        auto* found = new Module;  // outlives static destructors
        dl_iterate_phdr(visit, found);
        return found;
    }();
    return *instance;
}

}  // namespace

uintptr_t module_begin = 0;
void find_module() { module_begin = module().base; }

bool is_constant_of_module(uintptr_t address) {
    for (const auto& [begin, end] : module().constants) {
        if (address >= begin && address < end) return true;
    }
    return false;
}

}  // namespace emu
