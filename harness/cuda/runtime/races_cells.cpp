// Address space for the cells, as much of it as there is memory to remember.
#include <sys/mman.h>

#include <algorithm>

#include "races.h"

namespace emu {

Cell* shared_cells = nullptr;
Cell* symbol_cells = nullptr;
Cell* arena_cells[kMaxCellPages] = {};

namespace {

// so large that huge pages pay, where the system has them
Cell* new_cells(size_t bytes_of_memory) {
    const size_t bytes = (bytes_of_memory / kCellBytes + 2) * sizeof(Cell);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<Cell*>(memory);
}

void forget(Cell* cells, size_t bytes_of_memory) {
    if (cells) madvise(cells, (bytes_of_memory / kCellBytes + 2) * sizeof(Cell), MADV_DONTNEED);
}

size_t pages_in_use() { return std::min(shadow().high / kCellPage + 1, kMaxCellPages); }

}  // namespace

void make_cells() {
    const Shadow& s = shadow();
    for (size_t page = 0; s.high && page < pages_in_use(); ++page) {
        if (!arena_cells[page]) arena_cells[page] = new_cells(kCellPage);
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
