// threadIdx, blockIdx, blockDim, gridDim and warpSize for what the rewriting left: whole values, macros' arguments.
#pragma once

#include "../vector_types.h"

namespace emu {

template <unsigned (*value)()>
struct Component {
    operator unsigned() const { return value(); }
};

template <class Whole, unsigned (*value_x)(), unsigned (*value_y)(), unsigned (*value_z)()>
struct Triple {
    Component<value_x> x;
    Component<value_y> y;
    Component<value_z> z;
    operator Whole() const { return Whole{value_x(), value_y(), value_z()}; }
};
using IndexTriple = Triple<uint3, emu_thread_x, emu_thread_y, emu_thread_z>;
using BlockTriple = Triple<uint3, emu_block_x, emu_block_y, emu_block_z>;
using BlockSize = Triple<dim3, emu_block_dim_x, emu_block_dim_y, emu_block_dim_z>;
using GridSize = Triple<dim3, emu_grid_dim_x, emu_grid_dim_y, emu_grid_dim_z>;

}  // namespace emu

// the rewriting puts calls of these where a component of one of the four is named
using emu::emu_thread_x;
using emu::emu_thread_y;
using emu::emu_thread_z;
using emu::emu_block_x;
using emu::emu_block_y;
using emu::emu_block_z;
using emu::emu_block_dim_x;
using emu::emu_block_dim_y;
using emu::emu_block_dim_z;
using emu::emu_grid_dim_x;
using emu::emu_grid_dim_y;
using emu::emu_grid_dim_z;

constexpr emu::IndexTriple threadIdx{};
constexpr emu::BlockTriple blockIdx{};
constexpr emu::BlockSize blockDim{};
constexpr emu::GridSize gridDim{};
constexpr int warpSize = 32;
