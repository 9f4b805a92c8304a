#include "memory/registered.h"

#include <map>

namespace emu {

namespace {

// bytes by first address
std::map<const unsigned char*, size_t>& ranges() {
    static auto* instance = new std::map<const unsigned char*, size_t>;  // outlives static destructors
    return *instance;
}

}  // namespace

void register_host(const void* begin, size_t bytes) { ranges()[static_cast<const unsigned char*>(begin)] = bytes; }

bool unregister_host(const void* begin) { return ranges().erase(static_cast<const unsigned char*>(begin)) != 0; }

bool is_registered(const void* address, size_t bytes) {
    auto* p = static_cast<const unsigned char*>(address);
    auto after = ranges().upper_bound(p);
    if (after == ranges().begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    return bytes <= size && p <= begin + size - bytes;
}

}  // namespace emu
