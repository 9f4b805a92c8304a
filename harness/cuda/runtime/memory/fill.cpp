#include "memory/fill.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace emu {

namespace {

constexpr size_t kMixedWords = 4096;
constexpr uint64_t kBetweenTurns = 769;  // prime, so that turns begin far from each other
constexpr uint32_t kNanWord = 0xFFFFFFFF, kLargeWord = 0x7F7F7F7F, kMinusInfinityWord = 0xFF800000;
// NaN spoils sums and loses comparisons, a large number wins them; most faults show by one of the two
constexpr uint32_t kMixedValues[8] = {kNanWord, kLargeWord, kNanWord, kLargeWord, kNanWord, kLargeWord, 0, kMinusInfinityWord};

Fill chosen_fill = Fill::Nan;
size_t mixture_begins = 0;  // word of the mixture

const std::array<uint32_t, kMixedWords>& mixture() {
    static const auto* words = [] {
        auto* made = new std::array<uint32_t, kMixedWords>;
        uint32_t state = 1;
        for (uint32_t& word : *made) word = kMixedValues[(state = state * 1664525 + 1013904223) >> 29];
        return made;
    }();
    return *words;
}

}  // namespace

void choose_fill(Fill fill, uint64_t turn) {
    chosen_fill = fill;
    mixture_begins = turn % kMixedWords * kBetweenTurns % kMixedWords;
}

void fill_unwritten(void* memory, size_t bytes) {
    if (chosen_fill == Fill::Left) return;
    auto* to = static_cast<unsigned char*>(memory);
    if (chosen_fill != Fill::Mixed) {
        std::memset(to, chosen_fill == Fill::Nan ? 0xFF : 0, bytes);
        return;
    }
    for (size_t word = mixture_begins; bytes; word = 0) {
        const size_t part = std::min(bytes, (kMixedWords - word) * sizeof(uint32_t));
        std::memcpy(to, mixture().data() + word, part);
        to += part;
        bytes -= part;
    }
}

}  // namespace emu
