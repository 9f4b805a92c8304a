// Integer intrinsics, and values seen as other types of the same bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace emu {

template <class To, class From>
constexpr To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits have the same size");
    return __builtin_bit_cast(To, from);
}

}  // namespace emu

constexpr int __float_as_int(float x) { return emu::bits_as<int>(x); }
constexpr unsigned int __float_as_uint(float x) { return emu::bits_as<unsigned int>(x); }
constexpr float __int_as_float(int x) { return emu::bits_as<float>(x); }
constexpr float __uint_as_float(unsigned int x) { return emu::bits_as<float>(x); }
constexpr long long __double_as_longlong(double x) { return emu::bits_as<long long>(x); }
constexpr double __longlong_as_double(long long x) { return emu::bits_as<double>(x); }
constexpr int __double2hiint(double x) { return static_cast<int>(emu::bits_as<uint64_t>(x) >> 32); }
constexpr int __double2loint(double x) { return static_cast<int>(emu::bits_as<uint64_t>(x)); }
constexpr double __hiloint2double(int high, int low) {
    return emu::bits_as<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low));
}

constexpr int __popc(unsigned int x) { return __builtin_popcount(x); }
constexpr int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
constexpr int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
constexpr int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
constexpr int __ffs(int x) { return __builtin_ffs(x); }
constexpr int __ffsll(long long x) { return __builtin_ffsll(x); }
constexpr unsigned int __brev(unsigned int x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(x);
}
constexpr unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
/// Four bytes picked out of the eight of y:x; bit 3 of a selector spreads the byte's sign.
constexpr unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selectors) {
    const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
    unsigned int result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned selector = selectors >> 4 * i & 0xFu;
        const unsigned byte = static_cast<unsigned>(bytes >> 8 * (selector & 7u)) & 0xFFu;
        const unsigned sign = byte & 0x80u ? 0xFFu : 0u;
        result |= (selector & 8u ? sign : byte) << 8 * i;
    }
    return result;
}
constexpr unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31u) >> 32);
}
constexpr unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31u));
}
constexpr unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
constexpr unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
/// The position of the offset-th set bit of `mask` from `base` on (down for a negative offset), or all bits set.
constexpr unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
    const int step = offset < 0 ? -1 : 1;
    int left = offset < 0 ? -offset : offset;
    if (offset == 0) return mask >> base & 1u ? base : 0xffffffffu;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
        if (mask >> at & 1u && --left == 0) return static_cast<unsigned>(at);
    }
    return 0xffffffffu;
}

constexpr int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
constexpr unsigned int __umulhi(unsigned int a, unsigned int b) {
    return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
constexpr long long __mul64hi(long long a, long long b) {
    return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
constexpr unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
constexpr int __mul24(int a, int b) {
    return static_cast<int>(static_cast<int64_t>(a << 8 >> 8) * (b << 8 >> 8));
}
constexpr unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xFFFFFFu) * (b & 0xFFFFFFu); }
constexpr unsigned int __sad(int a, int b, unsigned int sum) {
    return sum + (a < b ? static_cast<unsigned>(b) - static_cast<unsigned>(a)
                        : static_cast<unsigned>(a) - static_cast<unsigned>(b));
}
constexpr unsigned int __usad(unsigned int a, unsigned int b, unsigned int sum) {
    return sum + (a < b ? b - a : a - b);
}
constexpr int __hadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b) >> 1); }
constexpr int __rhadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b + 1) >> 1); }
constexpr unsigned int __uhadd(unsigned int a, unsigned int b) {
    return static_cast<unsigned>((static_cast<uint64_t>(a) + b) >> 1);
}
constexpr unsigned int __urhadd(unsigned int a, unsigned int b) {
    return static_cast<unsigned>((static_cast<uint64_t>(a) + b + 1) >> 1);
}
constexpr int __dp4a(int a, int b, int sum) {
    for (int i = 0; i < 4; ++i) sum += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
    return sum;
}
constexpr unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int sum) {
    for (int i = 0; i < 4; ++i) sum += (a >> 8 * i & 0xFFu) * (b >> 8 * i & 0xFFu);
    return sum;
}
