// Tensor-core matrices (wmma) of half and bfloat16, computed by the lanes of a warp.
//
// CUDA leaves open which lane holds which element, and how often. Here an operand has 16 elements a lane and is held as
// often as that makes room for; a result has 8, row by row. Products are exact and summed in float, where a GPU may round
// otherwise. Loads and stores are told to the device in the 16 bytes that CUDA has matrices and leading dimensions
// aligned to. All lanes of the warp must take part.
#pragma once

#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

/// Other types and shapes than those below are not emulated.
template <class Use, int m, int n, int k, class T, class Layout = void, class = void>
class fragment;

}  // namespace nvcuda::wmma

namespace emu::wmma {

constexpr bool is_shape(int m, int n, int k) { return k == 16 && m * n == 256 && m >= 8 && n >= 8; }
template <class T>
constexpr bool is_factor = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
constexpr bool is_sum = std::is_same_v<T, __half> || std::is_same_v<T, float>;

template <class T, int count>
struct Elements {
    using element_type = T;
    using storage_element_type = T;
    static constexpr int num_elements = count, num_storage_elements = count;
    T x[count];
};

/// An operand of `lines` rows or columns, which lie behind each other in memory, of `along` elements.
template <class T, int lines_, int along_>
struct Operand : Elements<T, 16> {
    static constexpr int lines = lines_, along = along_, total = lines * along;
};

/// Every lane of the warp must have come: a matrix is all lanes'.
EMU_OUTLINE inline Meeting all_meet(const void* brought, unsigned bytes, const char* what, Site site) {
    const Meeting meeting = exchange(0xffffffffu, brought, bytes, what, site);
    if (~meeting.present) inactive_lane(what, static_cast<unsigned>(__builtin_ctz(~meeting.present)), site);
    return meeting;
}
EMU_OUTLINE inline void all_meet(const char* what, Site site) {
    const char nothing = 0;
    all_meet(&nothing, 1, what, site);
}

constexpr int kAccess = 16;  // bytes of one access

/// Tell the device of `count` elements side by side.
template <class T>
EMU_UNINSTRUMENTED void tell(const T* at, int count, bool write, const void* pc) {
    const int bytes = count * static_cast<int>(sizeof(T));
    for (int done = 0; done < bytes; done += kAccess) {
        access(reinterpret_cast<const char*>(at) + done, kAccess, write, pc);
    }
}

template <class T, int lines, int along>
EMU_UNINSTRUMENTED void load(Operand<T, lines, along>& to, const T* from, unsigned leading, const void* pc) {
    constexpr int run = kAccess / static_cast<int>(sizeof(T));
    const int first = static_cast<int>(linear_thread() & 31u) * 16;
    for (int i = 0; i < 16; i += run) {
        const int element = (first + i) % to.total;
        const T* at = from + static_cast<size_t>(element / along) * leading + element % along;
        if (first + i < to.total) tell(at, run, false, pc);  // other copies come with the first
        for (int j = 0; j < run; ++j) to.x[i + j] = at[j];
    }
}

/// The place in memory of a result's element.
constexpr size_t place_of(int element, int columns, unsigned leading, bool by_rows) {
    const size_t row = static_cast<size_t>(element / columns), column = static_cast<size_t>(element % columns);
    return by_rows ? row * leading + column : column * leading + row;
}

/// Tell of a lane's eight elements: side by side by rows, each by itself by columns.
template <class T>
EMU_UNINSTRUMENTED void tell_result(const T* memory, int first, int columns, unsigned leading, bool by_rows, bool write,
                                    const void* pc) {
    if (by_rows) return tell(memory + place_of(first, columns, leading, true), 8, write, pc);
    for (int i = 0; i < 8; ++i) {
        access(memory + place_of(first + i, columns, leading, false), sizeof(T), write, pc);
    }
}

/// An element of the operand that each lane brought as `which` of two, from where it lies.
template <class Fragment, int which>
EMU_UNINSTRUMENTED float factor(const Meeting& meeting, int row, int column) {
    const int element = Fragment::by_rows ? row * Fragment::along + column : column * Fragment::along + row;
    const auto* held = reinterpret_cast<const Fragment* const*>(meeting.deposits)[2 * (element / 16) + which];
    return widened<typename Fragment::element_type::Format>(held->x[element % 16].bits);
}

}  // namespace emu::wmma

namespace nvcuda::wmma {

template <int m, int n, int k, class T, class Layout>
class fragment<matrix_a, m, n, k, T, Layout, std::enable_if_t<emu::wmma::is_shape(m, n, k) && emu::wmma::is_factor<T>>>
    : public emu::wmma::Operand<T, std::is_same_v<Layout, row_major> ? m : k, std::is_same_v<Layout, row_major> ? k : m> {
public:
    static constexpr bool by_rows = std::is_same_v<Layout, row_major>;
};
template <int m, int n, int k, class T, class Layout>
class fragment<matrix_b, m, n, k, T, Layout, std::enable_if_t<emu::wmma::is_shape(m, n, k) && emu::wmma::is_factor<T>>>
    : public emu::wmma::Operand<T, std::is_same_v<Layout, row_major> ? k : n, std::is_same_v<Layout, row_major> ? n : k> {
public:
    static constexpr bool by_rows = std::is_same_v<Layout, row_major>;
};
template <int m, int n, int k, class T>
class fragment<accumulator, m, n, k, T, void, std::enable_if_t<emu::wmma::is_shape(m, n, k) && emu::wmma::is_sum<T>>>
    : public emu::wmma::Elements<T, 8> {};

template <class T, int count>
inline void fill_fragment(emu::wmma::Elements<T, count>& a, const std::common_type_t<T>& value) {
    for (T& x : a.x) x = value;
}

template <class T, int lines, int along>
EMU_OUTLINE void load_matrix_sync(emu::wmma::Operand<T, lines, along>& a, const std::common_type_t<T>* from,
                                  unsigned leading, emu::Site site = EMU_HERE) {
    emu::wmma::all_meet("wmma::load_matrix_sync", site);
    emu::wmma::load(a, from, leading, EMU_PC);
}
template <int m, int n, int k, class T>
EMU_OUTLINE void load_matrix_sync(fragment<accumulator, m, n, k, T>& a, const std::common_type_t<T>* from,
                                  unsigned leading, layout_t layout, emu::Site site = EMU_HERE) {
    emu::wmma::all_meet("wmma::load_matrix_sync", site);
    const int first = static_cast<int>(emu::linear_thread() & 31u) * 8;
    const bool by_rows = layout == mem_row_major;
    emu::wmma::tell_result(from, first, n, leading, by_rows, false, EMU_PC);
    for (int i = 0; i < 8; ++i) a.x[i] = from[emu::wmma::place_of(first + i, n, leading, by_rows)];
}
template <int m, int n, int k, class T>
EMU_OUTLINE void store_matrix_sync(std::common_type_t<T>* to, const fragment<accumulator, m, n, k, T>& a,
                                   unsigned leading, layout_t layout, emu::Site site = EMU_HERE) {
    emu::wmma::all_meet("wmma::store_matrix_sync", site);
    const int first = static_cast<int>(emu::linear_thread() & 31u) * 8;
    const bool by_rows = layout == mem_row_major;
    emu::wmma::tell_result(to, first, n, leading, by_rows, true, EMU_PC);
    for (int i = 0; i < 8; ++i) to[emu::wmma::place_of(first + i, n, leading, by_rows)] = a.x[i];
    emu::wmma::all_meet("wmma::store_matrix_sync", site);
}

/// d = a * b + c.
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class D, class C>
EMU_OUTLINE void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                          const fragment<matrix_b, m, n, k, T, LayoutB>& b, const fragment<accumulator, m, n, k, C>& c,
                          bool = false, emu::Site site = EMU_HERE) {
#if defined(EMU_COUNTS_ARITHMETIC)
    emu::counted::add<emu::Number::Tensor, emu::Operation::Fused, m * n * k / 32>();  // of this lane
#endif
    using A = fragment<matrix_a, m, n, k, T, LayoutA>;
    using B = fragment<matrix_b, m, n, k, T, LayoutB>;
    const void* brought[2] = {&a, &b};
    const emu::Meeting meeting = emu::wmma::all_meet(brought, sizeof brought, "wmma::mma_sync", site);
    if (!~meeting.present) {
        // eight elements of a row, since all widths are multiples of eight
        const int first = static_cast<int>(emu::linear_thread() & 31u) * 8, row = first / n, column = first % n;
        float sums[8];
        for (int i = 0; i < 8; ++i) sums[i] = static_cast<float>(c.x[i]);
        for (int j = 0; j < k; ++j) {
            const float left = emu::wmma::factor<A, 0>(meeting, row, j);
            for (int i = 0; i < 8; ++i) sums[i] += left * emu::wmma::factor<B, 1>(meeting, j, column + i);
        }
        for (int i = 0; i < 8; ++i) d.x[i] = D(sums[i]);
    }
    // the others read this lane's operands where they lie
    emu::wmma::all_meet("wmma::mma_sync", site);
}

}  // namespace nvcuda::wmma
