// `__device__` and `__constant__` variables.
#include <map>

#include "observe/observer.h"
#include "run/state.h"

namespace emu {

namespace {

// by address; filled by constructors that run before main
std::map<const unsigned char*, SymbolRecord>& symbols() {
    static auto* instance = new std::map<const unsigned char*, SymbolRecord>;
    return *instance;
}

}  // namespace

Symbol::Symbol(void* address, size_t bytes, const char* name, Space space) {
    auto* begin = static_cast<unsigned char*>(address);
    auto [entry, fresh] = symbols().emplace(begin, SymbolRecord{begin, bytes, name, space});
    if (fresh) on_symbol(entry->second);
}

SymbolRecord* find_symbol(const void* address) {
    auto* p = static_cast<const unsigned char*>(address);
    auto after = symbols().upper_bound(p);
    if (after == symbols().begin()) return nullptr;
    SymbolRecord& record = std::prev(after)->second;
    return p < record.address + record.bytes ? &record : nullptr;
}

}  // namespace emu
