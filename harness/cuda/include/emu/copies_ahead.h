// cuda::memcpy_async: done at once, by whoever calls it. A device may do it at any time before it is waited for.
#pragma once

#include "../cooperative_groups/memcpy_async.h"
#include "scoped_atomics.h"

namespace cuda {

/// Bytes of a copy whose ends are aligned to Alignment.
template <size_t Alignment>
struct aligned_size_t {
    static constexpr size_t align = Alignment;
    size_t value;
    explicit aligned_size_t(size_t bytes) : value(bytes) {}
    operator size_t() const { return value; }
};

/// A group of the calling thread only.
struct this_thread_only {
    static constexpr size_t thread_rank() { return 0; }
    static constexpr size_t size() { return 1; }
};

template <class Group, class To, class From, class Size, class Barrier,
          class = ::std::enable_if_t<!::std::is_pointer_v<Group>>>
EMU_INLINE void memcpy_async(const Group& group, To* to, const From* from, Size bytes, Barrier&) {
    cooperative_groups::memcpy_async(group, static_cast<void*>(to), static_cast<const void*>(from),
                                     static_cast<size_t>(bytes));
}
template <class To, class From, class Size, class Barrier>
EMU_INLINE void memcpy_async(To* to, const From* from, Size bytes, Barrier&) {
    cooperative_groups::memcpy_async(this_thread_only{}, static_cast<void*>(to), static_cast<const void*>(from),
                                     static_cast<size_t>(bytes));
}

}  // namespace cuda
