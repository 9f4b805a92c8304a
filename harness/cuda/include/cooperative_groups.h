// Cooperative groups: grids, blocks, tiles of a warp or of several, and coalesced threads.
#pragma once

#include "cuda_runtime.h"
#include "emu/gather.h"
#include "emu/wide_tiles.h"

namespace emu {

/// The lanes of the caller's tile of `size`: also those that a block which is no multiple of it lacks. Nobody waits for
/// them, and whoever takes their value is told so.
inline EMU_UNINSTRUMENTED uint32_t tile_lanes(unsigned size) {
    const unsigned first = linear_thread() & 31u & ~(size - 1u);
    return size >= 32 ? ~0u : ((1u << size) - 1u) << first;
}

/// The caller's `size` neighbours by rank.
inline EMU_UNINSTRUMENTED uint32_t neighbours(uint32_t mask, unsigned size) {
    const unsigned own = static_cast<unsigned>(__popc(mask & ((1u << lane()) - 1u))) / size;
    uint32_t result = 0;
    for (unsigned rank = 0; mask != 0; ++rank, mask &= mask - 1) {
        if (rank / size == own) result |= mask & -mask;
    }
    return result;
}

}  // namespace emu

namespace cooperative_groups {

/// Room in shared memory for tiles of several warps.
template <unsigned Most = 1024>
struct block_tile_memory : emu::TileScratch {};

/// Any group: the whole block, or the lanes of `mask` in the caller's warp.
class thread_group {
public:
    static constexpr uint32_t whole_block = 0;

    EMU_OUTLINE void sync(emu::Site site = EMU_HERE) const {
        const unsigned char nothing = 0;
        if (mask_ == whole_block) emu::barrier(-1, emu::Vote::None, 0, site);
        else emu::exchange(mask_, &nothing, sizeof nothing, "sync() of a group", site);
    }
    unsigned long long size() const { return mask_ ? __popc(mask_) : block_size(); }
    unsigned long long num_threads() const { return size(); }
    unsigned long long thread_rank() const {
        return mask_ ? __popc(mask_ & ((1u << emu::lane()) - 1u)) : emu::linear_thread();
    }
    bool is_valid() const { return true; }
    uint32_t lanes() const { return mask_; }

protected:
    explicit thread_group(uint32_t mask) : mask_(mask) {}
    static unsigned block_size() { return emu_block_dim_x() * emu_block_dim_y() * emu_block_dim_z(); }

    uint32_t mask_;
    friend thread_group tiled_partition(const thread_group& parent, unsigned size);
};

class thread_block : public thread_group {
public:
    static EMU_OUTLINE void sync(emu::Site site = EMU_HERE) { emu::barrier(-1, emu::Vote::None, 0, site); }
    static unsigned size() { return block_size(); }
    static unsigned num_threads() { return block_size(); }
    static unsigned thread_rank() { return emu::linear_thread(); }
    static dim3 group_index() { return dim3(emu_block_x(), emu_block_y(), emu_block_z()); }
    static dim3 thread_index() { return dim3(emu_thread_x(), emu_thread_y(), emu_thread_z()); }
    static dim3 group_dim() { return dim3(emu_block_dim_x(), emu_block_dim_y(), emu_block_dim_z()); }
    static dim3 dim_threads() { return group_dim(); }

    emu::TileScratch* scratch() const { return scratch_; }
    static thread_block with(emu::TileScratch* scratch) { return thread_block(scratch); }

private:
    explicit thread_block(emu::TileScratch* scratch = nullptr) : thread_group(whole_block), scratch_(scratch) {}
    friend thread_block this_thread_block();

    emu::TileScratch* scratch_;
};

inline thread_block this_thread_block() { return thread_block(); }
/// A block with room for tiles of several warps; all of its threads call this together.
template <unsigned Most>
EMU_INLINE thread_block this_thread_block(block_tile_memory<Most>& memory, emu::Site site = EMU_HERE) {
    if (thread_block::thread_rank() == 0) memory.begin(thread_block::size());
    thread_block::sync(site);
    return thread_block::with(&memory);
}

/// Lanes of one warp, ranked in lane order, and which of its parent's parts they are.
class warp_group : public thread_group {
public:
    warp_group(uint32_t mask, unsigned part, unsigned parts) : thread_group(mask), part_(part), parts_(parts) {}

    unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & ((1u << emu::lane()) - 1u))); }
    unsigned meta_group_rank() const { return part_; }
    unsigned meta_group_size() const { return parts_; }

    template <class T>
    EMU_OUTLINE T shfl(T value, int rank, emu::Site site = EMU_HERE) const {
        return taken(value, static_cast<unsigned>(rank) % size(), "shfl() of a group", site);
    }
    template <class T>
    EMU_OUTLINE T shfl_up(T value, unsigned delta, emu::Site site = EMU_HERE) const {
        const unsigned rank = thread_rank();
        return taken(value, rank >= delta ? rank - delta : rank, "shfl_up() of a group", site);
    }
    template <class T>
    EMU_OUTLINE T shfl_down(T value, unsigned delta, emu::Site site = EMU_HERE) const {
        const unsigned rank = thread_rank();
        return taken(value, delta < size() - rank ? rank + delta : rank, "shfl_down() of a group", site);
    }
    EMU_OUTLINE int any(int predicate, emu::Site site = EMU_HERE) const {
        return __any_sync(mask_, predicate, site);
    }
    EMU_OUTLINE int all(int predicate, emu::Site site = EMU_HERE) const {
        return __all_sync(mask_, predicate, site);
    }
    EMU_OUTLINE unsigned ballot(int predicate, emu::Site site = EMU_HERE) const {
        return emu::packed(mask_, __ballot_sync(mask_, predicate, site));
    }
    template <class T>
    EMU_OUTLINE unsigned match_any(T value, emu::Site site = EMU_HERE) const {
        return emu::packed(mask_, __match_any_sync(mask_, value, site));
    }
    template <class T>
    EMU_OUTLINE unsigned match_all(T value, int& all_equal, emu::Site site = EMU_HERE) const {
        return emu::packed(mask_, __match_all_sync(mask_, value, &all_equal, site));
    }

protected:
    template <class T>
    EMU_UNINSTRUMENTED T taken(const T& value, unsigned rank, const char* what, emu::Site site) const {
        return emu::gathered(mask_, value, what, site).from(emu::lane_at(mask_, rank), what, site);
    }

    unsigned part_, parts_;
};

class coalesced_group : public warp_group {
public:
    using warp_group::warp_group;
};

/// The lanes that run together here: those which come before the rest of the warp waits or ends.
EMU_OUTLINE inline coalesced_group coalesced_threads(emu::Site site = EMU_HERE) {
    return coalesced_group(emu::lanes_together(site), 0, 1);
}

/// A tile of Size lanes, Size a power of two of at most 32; or of several warps.
template <unsigned Size, bool Wide>
class tile_of : public warp_group {
public:
    using warp_group::warp_group;

    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }

    template <class T>
    EMU_OUTLINE T shfl_xor(T value, unsigned lanes, emu::Site site = EMU_HERE) const {
        const unsigned rank = thread_rank() ^ lanes;
        return taken(value, rank < Size ? rank : thread_rank(), "shfl_xor() of a tile", site);
    }
};

template <unsigned Size>
class tile_of<Size, true> : public thread_group {
public:
    tile_of(emu::TileScratch* scratch) : thread_group(whole_block), scratch_(scratch) {}

    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned thread_rank() { return emu::linear_thread() % Size; }
    static unsigned meta_group_rank() { return emu::linear_thread() / Size; }
    static unsigned meta_group_size() { return (block_size() + Size - 1) / Size; }

    EMU_INLINE void sync() const { scratch_->meet(Size); }
    EMU_INLINE int any(int predicate) const {
        return scratch_->reduced(Size, predicate != 0, [](int a, int b) { return a | b; });
    }
    EMU_INLINE int all(int predicate) const {
        return scratch_->reduced(Size, predicate != 0, [](int a, int b) { return a & b; });
    }
    emu::TileScratch* scratch() const { return scratch_; }

private:
    emu::TileScratch* scratch_;
};

template <unsigned Size, class Parent = void>
class thread_block_tile : public tile_of<Size, (Size > 32)> {
public:
    static_assert(Size > 0 && (Size & (Size - 1)) == 0, "a tile's size is a power of two");
    using Tile = tile_of<Size, (Size > 32)>;
    using Tile::Tile;
    explicit thread_block_tile(const Tile& tile) : Tile(tile) {}

    /// The same tile, with no word of the group it is a part of.
    operator thread_block_tile<Size, void>() const { return thread_block_tile<Size, void>(static_cast<const Tile&>(*this)); }
};

template <unsigned Size>
EMU_OUTLINE thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block,
                                                                  emu::Site site = EMU_HERE) {
    if constexpr (Size > 32) {
        if (block.scratch() == nullptr) emu::unsupported("a tile of more than 32 threads without block_tile_memory", site);
        return {block.scratch()};
    } else {
        return {emu::tile_lanes(Size), block.thread_rank() / Size, (block.size() + Size - 1) / Size};
    }
}
template <unsigned Size, unsigned Outer, class Parent>
EMU_OUTLINE thread_block_tile<Size, thread_block_tile<Outer, Parent>> tiled_partition(
    const thread_block_tile<Outer, Parent>& tile) {
    static_assert(Size <= Outer, "a tile's part is no larger than the tile");
    return {emu::tile_lanes(Size), tile.thread_rank() / Size, Outer / Size};
}

EMU_OUTLINE inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size) {
    return {emu::neighbours(group.lanes(), size), group.thread_rank() / size, (group.size() + size - 1) / size};
}
EMU_OUTLINE inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
    return thread_group(parent.lanes() ? emu::neighbours(parent.lanes(), size) : emu::tile_lanes(size));
}

/// The lanes of `group` that gave the same label.
template <class Group, class Label>
EMU_OUTLINE coalesced_group labeled_partition(const Group& group, Label label, emu::Site site = EMU_HERE) {
    const auto labels = emu::gathered(group.lanes(), label, "labeled_partition", site);
    uint32_t same = 0, others = labels.present;
    unsigned part = 0, parts = 0;
    for (; others != 0; ++parts) {
        const Label first = labels.from(emu::lane_at(others, 0), "labeled_partition", site);
        uint32_t equal = 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (others >> lane & 1u && labels.from(lane, "labeled_partition", site) == first) equal |= 1u << lane;
        }
        if (equal >> emu::lane() & 1u) same = equal, part = parts;
        others &= ~equal;
    }
    return {same, part, parts};
}
template <class Group>
EMU_OUTLINE coalesced_group binary_partition(const Group& group, bool predicate, emu::Site site = EMU_HERE) {
    return labeled_partition(group, predicate, site);
}

class grid_group {
public:
    EMU_OUTLINE void sync(emu::Site site = EMU_HERE) const { emu::grid_barrier(site); }
    static unsigned long long num_blocks() {
        return static_cast<unsigned long long>(emu_grid_dim_x()) * emu_grid_dim_y() * emu_grid_dim_z();
    }
    static unsigned long long block_rank() {
        return emu_block_x() + static_cast<unsigned long long>(emu_grid_dim_x()) *
                                   (emu_block_y() + static_cast<unsigned long long>(emu_grid_dim_y()) * emu_block_z());
    }
    static unsigned long long size() { return num_blocks() * thread_block::size(); }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long thread_rank() { return block_rank() * thread_block::size() + emu::linear_thread(); }
    static dim3 group_dim() { return dim3(emu_grid_dim_x(), emu_grid_dim_y(), emu_grid_dim_z()); }
    static dim3 dim_blocks() { return group_dim(); }
    static dim3 block_index() { return thread_block::group_index(); }
    static bool is_valid() { return emu::is_cooperative(); }
};
inline grid_group this_grid() { return grid_group(); }

template <class Group>
inline void sync(const Group& group, emu::Site site = EMU_HERE) {
    group.sync(site);
}
template <class Group>
inline unsigned long long thread_rank(const Group& group) {
    return group.thread_rank();
}
template <class Group>
inline unsigned long long group_size(const Group& group) {
    return group.size();
}

/// `function(arguments...)` in the group's first thread only.
template <class Group, class Function, class... Arguments>
inline void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}

}  // namespace cooperative_groups
