// Which buffer traffic belongs to, and its share of the launch's record.
#include "counters/counters.h"
#include "observe/observer.h"

namespace emu {

namespace {

// Symbols that a launch has met count as buffers behind the arena's.
constexpr uint32_t kFirstSymbol = 1 << 20;

std::vector<const SymbolRecord*>& symbols() {
    static auto* instance = new std::vector<const SymbolRecord*>;
    return *instance;
}

// Their bytes lie behind the arena's, at offsets that leave sectors whole.
uintptr_t symbols_base() { return shadow().symbols.begin & ~(uintptr_t{kStretchBytes} - 1); }

bool moved(const BufferTraffic& traffic) {
    return traffic.read_bytes || traffic.written_bytes || traffic.atomic_bytes;
}

void add(BufferTraffic& sum, const BufferTraffic& more) {
    sum.read_bytes += more.read_bytes;
    sum.written_bytes += more.written_bytes;
    sum.atomic_bytes += more.atomic_bytes;
    sum.read_sectors += more.read_sectors;
    sum.written_sectors += more.written_sectors;
    sum.unique_read_bytes += more.unique_read_bytes;
    sum.unique_written_bytes += more.unique_written_bytes;
}

void fill(LaunchRecord& record, BufferTraffic& traffic, const std::string& name, size_t offset, size_t bytes) {
    if (!moved(traffic)) return;
    traffic.unique_read_bytes = counters.read.take_count(offset, bytes);
    traffic.unique_written_bytes = counters.written.take_count(offset, bytes);
    add(record.buffers[name], traffic);
    traffic = BufferTraffic{};
}

// A variable may bear any name, also that of an allocation.
std::string told_apart(const std::string& name) {
    struct Search {
        const std::string& name;
        bool found;
    } search{name, false};
    each_allocation(
        [](Allocation& allocation, void* context) {
            auto& search = *static_cast<Search*>(context);
            search.found |= allocation.name == search.name;
        },
        &search);
    return search.found ? "variable " + name : name;
}

}  // namespace

uint32_t buffer_at(size_t offset) {
    const Shadow& s = shadow();
    if (offset < s.arena.bytes) return s.owners[offset / kGranule];
    const SymbolRecord* symbol = find_symbol(reinterpret_cast<void*>(offset - s.arena.bytes + symbols_base()));
    auto& met = symbols();
    for (uint32_t i = 0; i < met.size(); ++i) {
        if (met[i] == symbol) return kFirstSymbol + i;
    }
    met.push_back(symbol);
    return static_cast<uint32_t>(kFirstSymbol + met.size() - 1);
}

BufferTraffic& traffic_of_buffer(uint32_t buffer) {
    auto& list = buffer < kFirstSymbol ? counters.buffers : counters.symbols;
    const uint32_t i = buffer < kFirstSymbol ? buffer : buffer - kFirstSymbol;
    if (list.size() <= i) list.resize(i + 1);
    return list[i];
}

void count_symbol(uintptr_t address, unsigned bytes, Traffic traffic, const void* pc) {
    const SymbolRecord* symbol = find_symbol(reinterpret_cast<const void*>(address));
    if (!symbol) return;
    const size_t offset = shadow().arena.bytes + (address - symbols_base());
    // constants have a cache of their own: no sectors
    if (symbol->space == Space::Constant) traffic_of_buffer(buffer_at(offset)).read_bytes += bytes;
    else count_global(offset, bytes, traffic, pc);
}

void counters_launch(Launch& launch) {
    const Shadow& s = shadow();
    if (!counters.read.reserved()) {
        const size_t bytes = s.arena.bytes + s.symbols.bytes + kStretchBytes;
        counters.read.reserve(bytes);
        counters.written.reserve(bytes);
    }
    counters.places.clear();
    counters.record = &launch.record;
    for (uint64_t& bytes : counters.shared_bytes) bytes = 0;
}

void counters_launch_end(Launch& launch) {
    for (const Traffic traffic : {Traffic::Load, Traffic::Store, Traffic::Atomic}) {
        shared_total(launch.record, traffic).bytes = counters.shared_bytes[static_cast<unsigned>(traffic)];
    }
    const Shadow& s = shadow();
    for (uint32_t i = 1; i < counters.buffers.size(); ++i) {
        const size_t begin = s.extents[i].address;
        const auto* allocation = find_allocation(reinterpret_cast<void*>(s.arena.begin + begin));
        if (allocation) fill(launch.record, counters.buffers[i], allocation->name, begin, allocation->bytes);
        else counters.buffers[i] = BufferTraffic{};
    }
    for (uint32_t i = 0; i < counters.symbols.size(); ++i) {
        const SymbolRecord* symbol = symbols()[i];
        const size_t offset = s.arena.bytes + (reinterpret_cast<uintptr_t>(symbol->address) - symbols_base());
        fill(launch.record, counters.symbols[i], told_apart(symbol->name), offset, symbol->bytes);
    }
}

}  // namespace emu
