// How the elements of textures and surfaces are described: host code asks, too.
#pragma once

#include <type_traits>

#include "../cuda_texture_types.h"

// NOLINTBEGIN: the names are CUDA's
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}
/// What describes a T: its channels, their bits and kind.
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
    if constexpr (std::is_arithmetic_v<T>) {
        const cudaChannelFormatKind kind = std::is_floating_point_v<T> ? cudaChannelFormatKindFloat
                                           : std::is_signed_v<T>       ? cudaChannelFormatKindSigned
                                                                       : cudaChannelFormatKindUnsigned;
        return {8 * static_cast<int>(sizeof(T)), 0, 0, 0, kind};
    } else {
        using C = std::decay_t<decltype(T::x)>;
        cudaChannelFormatDesc format = cudaCreateChannelDesc<C>();
        constexpr size_t channels = sizeof(T) / sizeof(C);
        format.y = channels > 1 ? format.x : 0;
        format.z = channels > 2 ? format.x : 0;
        format.w = channels > 3 ? format.x : 0;
        return format;
    }
}
// NOLINTEND
