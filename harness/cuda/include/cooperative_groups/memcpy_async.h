// Copies by all threads of a group, done at once: a device may do them at any time before they are waited for.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

/// `bytes` bytes, by words where both sides allow it.
template <class Group>
EMU_INLINE void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
    const size_t rank = group.thread_rank(), size = group.size();
    const size_t places = reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from) | bytes;
    if (places % 16 == 0) {
        for (size_t i = rank; i < bytes / 16; i += size) static_cast<int4*>(to)[i] = static_cast<const int4*>(from)[i];
    } else if (places % 4 == 0) {
        for (size_t i = rank; i < bytes / 4; i += size) static_cast<int*>(to)[i] = static_cast<const int*>(from)[i];
    } else {
        for (size_t i = rank; i < bytes; i += size) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    }
}
/// As many elements as both sides have room for.
template <class Group, class T>
EMU_INLINE void memcpy_async(const Group& group, T* to, size_t room, const T* from, size_t count) {
    const size_t elements = count < room ? count : room;
    memcpy_async(group, static_cast<void*>(to), static_cast<const void*>(from), elements * sizeof(T));
}

template <class Group>
EMU_INLINE void wait(const Group& group, emu::Site site = EMU_HERE) {
    group.sync(site);
}
template <unsigned Stages, class Group>
EMU_INLINE void wait_prior(const Group& group, emu::Site site = EMU_HERE) {
    group.sync(site);
}

}  // namespace cooperative_groups
