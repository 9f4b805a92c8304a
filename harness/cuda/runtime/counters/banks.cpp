// Shared memory's 32 banks of four bytes: how many passes a warp's request takes.
#include <algorithm>

#include "counters/counters.h"

namespace emu {

namespace {

constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;

unsigned words_of_lane(const BankRequest& request) { return std::max(1u, request.bytes / kBankBytes); }

// Lanes that are served together: 32 of up to four bytes, 16 of eight, 8 of sixteen.
unsigned lanes_together(const BankRequest& request) { return kWarpLanes / words_of_lane(request); }

struct Words {
    uint16_t of[kBanks];
    unsigned count = 0;
    void add(uint16_t word) { of[count++] = word; }
};

Words words_of(const BankRequest& request, unsigned first_lane) {
    Words words;
    for (unsigned lane = first_lane; lane < first_lane + lanes_together(request); ++lane) {
        if (!(request.lanes >> lane & 1)) continue;
        for (unsigned i = 0; i < words_of_lane(request); ++i) words.add(static_cast<uint16_t>(request.word[lane] + i));
    }
    return words;
}

// As many as the busiest bank has different words.
unsigned passes(const Words& words) {
    uint32_t banks = 0;
    for (unsigned i = 0; i < words.count; ++i) banks |= 1u << words.of[i] % kBanks;
    if (static_cast<unsigned>(__builtin_popcount(banks)) == words.count) return words.count != 0;
    unsigned most = 0;
    unsigned per_bank[kBanks] = {};
    for (unsigned i = 0; i < words.count; ++i) {
        if (std::find(words.of, words.of + i, words.of[i]) != words.of + i) continue;
        most = std::max(most, ++per_bank[words.of[i] % kBanks]);
    }
    return most;
}

// Of all lanes at once, a word each: whether no bank has two different ones. Most requests are such.
bool is_one_pass(const BankRequest& request) {
    uint16_t word_of[kBanks];
    uint32_t banks = 0;
    for (uint32_t lanes = request.lanes; lanes; lanes &= lanes - 1) {
        const uint16_t word = request.word[__builtin_ctz(lanes)];
        const unsigned bank = word % kBanks;
        if ((banks >> bank & 1) && word_of[bank] != word) return false;
        word_of[bank] = word;
        banks |= 1u << bank;
    }
    return banks != 0;
}

}  // namespace

uint64_t wavefronts_of(const BankRequest& request) {
    if (request.bytes <= kBankBytes && is_one_pass(request)) return 1;
    uint64_t sum = 0;
    for (unsigned lane = 0; lane < kWarpLanes; lane += lanes_together(request)) sum += passes(words_of(request, lane));
    return sum;
}

uint64_t ideal_wavefronts_of(const BankRequest& request) {
    if (request.bytes <= kBankBytes) return request.lanes != 0;
    const unsigned together = lanes_together(request);
    uint64_t groups = 0;
    for (unsigned lane = 0; lane < kWarpLanes; lane += together) {
        const uint32_t group = (together == 32 ? ~0u : (1u << together) - 1) << lane;
        groups += (request.lanes & group) != 0;
    }
    return groups;
}

}  // namespace emu
