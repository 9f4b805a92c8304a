// The kernels behind a library's names.
#pragma once

#include <map>
#include <string>

#include "../cuda_runtime.h"

namespace emu {

/// The kernel that a library's function launches: captured launches refer to it, so it stays.
EMU_OUTLINE inline const Kernel& library_kernel(const char* name) {
    static auto* known = new std::map<std::string, Kernel>;  // outlives static destructors
    return known->try_emplace(name, Kernel{name, {nullptr, 0}}).first->second;
}

}  // namespace emu
