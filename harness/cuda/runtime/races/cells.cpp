// Address space for the cells, as much of it as there is memory to remember.
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>

#include "races/races.h"
#include "run/state.h"

namespace emu {

Cell* shared_cells = nullptr;
Cell* symbol_cells = nullptr;
Cell* arena_cells[kMaxCellPages] = {};
size_t last_offsets[kStreams] = {};

namespace {

constexpr size_t kHugePage = 2 << 20;

size_t bytes_of_cells(size_t bytes_of_memory) { return (cell_index(bytes_of_memory / kCellBytes) + 2) * sizeof(Cell); }

// Lanes stride through memory, and through its cells eight times as far: huge pages, where the system has them.
Cell* new_cells(size_t bytes_of_memory) {
    const size_t bytes = bytes_of_cells(bytes_of_memory);
    void* memory = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    const uintptr_t aligned = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) & ~(kHugePage - 1);
    madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
    return reinterpret_cast<Cell*>(aligned);
}

void forget(Cell* cells, size_t bytes_of_memory) {
    if (cells) madvise(cells, bytes_of_cells(bytes_of_memory), MADV_DONTNEED);
}

// Half of what the process may have: the rest is the arena's, the stacks' and the program's own.
size_t affordable_pages() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMaxCellPages;
    return limit.rlim_cur / 2 / (bytes_of_cells(kCellPage) + kHugePage);
}

size_t pages_in_use() { return std::min(shadow().high / kCellPage + 1, kMaxCellPages); }

}  // namespace

void make_cells() {
    const Shadow& s = shadow();
    const size_t affordable = affordable_pages();
    for (size_t page = 0; s.high && page < pages_in_use(); ++page) {
        if (!arena_cells[page] && page < affordable) arena_cells[page] = new_cells(kCellPage);
        // races there go unseen, and the report says that it is not whole
        if (!arena_cells[page]) state().truncated = true;
    }
    if (!shared_cells && s.shared.bytes) shared_cells = new_cells(s.shared.bytes);
    if (!symbol_cells && s.symbols.bytes) symbol_cells = new_cells(s.symbols.bytes);
}

void forget_cells() {
    for (size_t page = 0; page < pages_in_use(); ++page) forget(arena_cells[page], kCellPage);
    forget(shared_cells, shadow().shared.bytes);
    forget(symbol_cells, shadow().symbols.bytes);
}

}  // namespace emu
