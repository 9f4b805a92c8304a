// Fetches from textures, reads and writes of surfaces: what the device looks up, it looks up in memory that is checked
// as any other.
#pragma once

#include <cstring>
#include <type_traits>

#include "../vector_types.h"
#include "emulator.h"
#include "texel.h"

namespace emu {

template <class C>
EMU_UNINSTRUMENTED C channel_of(const Texel& texel, unsigned i) {
    float value;
    std::memcpy(&value, &texel.words[i], sizeof value);
    return texel.floating ? static_cast<C>(value) : static_cast<C>(static_cast<int>(texel.words[i]));
}

template <class T>
EMU_UNINSTRUMENTED T value_of(const Texel& texel) {
    if constexpr (std::is_arithmetic_v<T>) {
        return channel_of<T>(texel, 0);
    } else {
        T value{};
        using C = std::decay_t<decltype(value.x)>;
        constexpr size_t channels = sizeof(T) / sizeof(C);
        value.x = channel_of<C>(texel, 0);
        if constexpr (channels > 1) value.y = channel_of<C>(texel, 1);
        if constexpr (channels > 3) value.z = channel_of<C>(texel, 2), value.w = channel_of<C>(texel, 3);
        return value;
    }
}

}  // namespace emu

// NOLINTBEGIN: the names are CUDA's
#define EMU_FETCH(name, spot, ...)                                                                \
    template <class T>                                                                            \
    EMU_OUTLINE T name(cudaTextureObject_t texture, __VA_ARGS__, emu::Site site = EMU_HERE) {     \
        return emu::value_of<T>(emu::api::sample(texture, spot, EMU_PC, site));                   \
    }                                                                                             \
    template <class T>                                                                            \
    EMU_OUTLINE void name(T* value, cudaTextureObject_t texture, __VA_ARGS__, emu::Site site = EMU_HERE) { \
        const T read = emu::value_of<T>(emu::api::sample(texture, spot, EMU_PC, site));           \
        *value = read;                                                                            \
    }
EMU_FETCH(tex1D, (emu::Spot{1, x, 0, 0, 0, false}), float x)
EMU_FETCH(tex2D, (emu::Spot{2, x, y, 0, 0, false}), float x, float y)
EMU_FETCH(tex3D, (emu::Spot{3, x, y, z, 0, false}), float x, float y, float z)
EMU_FETCH(tex1DLayered, (emu::Spot{1, x, 0, 0, layer, false}), float x, int layer)
EMU_FETCH(tex2DLayered, (emu::Spot{2, x, y, 0, layer, false}), float x, float y, int layer)
EMU_FETCH(texCubemap, (emu::Spot{2, x, y, z, 0, true}), float x, float y, float z)
EMU_FETCH(texCubemapLayered, (emu::Spot{2, x, y, z, layer, true}), float x, float y, float z, int layer)
// one level is all that there is
EMU_FETCH(tex1DLod, (emu::Spot{1, x, 0, 0, 0, false}), float x, float)
EMU_FETCH(tex2DLod, (emu::Spot{2, x, y, 0, 0, false}), float x, float y, float)
EMU_FETCH(tex3DLod, (emu::Spot{3, x, y, z, 0, false}), float x, float y, float z, float)
#undef EMU_FETCH

template <class T>
EMU_OUTLINE T tex1Dfetch(cudaTextureObject_t texture, int index, emu::Site site = EMU_HERE) {
    return emu::value_of<T>(emu::api::fetch_linear(texture, index, EMU_PC, site));
}
template <class T>
EMU_OUTLINE void tex1Dfetch(T* value, cudaTextureObject_t texture, int index, emu::Site site = EMU_HERE) {
    *value = emu::value_of<T>(emu::api::fetch_linear(texture, index, EMU_PC, site));
}
template <class T>
EMU_OUTLINE T tex2Dgather(cudaTextureObject_t texture, float x, float y, int channel = 0, emu::Site site = EMU_HERE) {
    return emu::value_of<T>(emu::api::gather(texture, x, y, channel, EMU_PC, site));
}

namespace emu {

template <class T>
EMU_UNINSTRUMENTED T surface_read(cudaSurfaceObject_t surface, int x, int y, int z, int mode, const void* pc, Site site) {
    T value;
    std::memset(static_cast<void*>(&value), 0, sizeof(T));
    const void* place = api::element(surface, x, y, z, sizeof(T), mode, site);
    if (place == nullptr) return value;
    access(place, sizeof(T), false, pc);
    for (size_t i = 0; i < sizeof(T); ++i) {
        reinterpret_cast<unsigned char*>(&value)[i] = static_cast<const unsigned char*>(place)[i];
    }
    return value;
}
template <class T>
EMU_UNINSTRUMENTED void surface_write(const T& value, cudaSurfaceObject_t surface, int x, int y, int z, int mode,
                                      const void* pc, Site site) {
    void* place = api::element(surface, x, y, z, sizeof(T), mode, site);
    if (place == nullptr) return;
    access(place, sizeof(T), true, pc);
    for (size_t i = 0; i < sizeof(T); ++i) {
        static_cast<unsigned char*>(place)[i] = reinterpret_cast<const unsigned char*>(&value)[i];
    }
}

}  // namespace emu

#define EMU_SURFACE(kind, at, ...)                                                                                \
    template <class T>                                                                                            \
    EMU_OUTLINE T kind##read(cudaSurfaceObject_t surface, __VA_ARGS__,                                            \
                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, emu::Site site = EMU_HERE) {    \
        return emu::surface_read<T>(surface, EMU_SPOT at, mode, EMU_PC, site);                                    \
    }                                                                                                             \
    template <class T>                                                                                            \
    EMU_OUTLINE void kind##read(T* value, cudaSurfaceObject_t surface, __VA_ARGS__,                               \
                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, emu::Site site = EMU_HERE) { \
        *value = emu::surface_read<T>(surface, EMU_SPOT at, mode, EMU_PC, site);                                  \
    }                                                                                                             \
    template <class T>                                                                                            \
    EMU_OUTLINE void kind##write(T value, cudaSurfaceObject_t surface, __VA_ARGS__,                               \
                                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, emu::Site site = EMU_HERE) { \
        emu::surface_write<T>(value, surface, EMU_SPOT at, mode, EMU_PC, site);                                   \
    }
#define EMU_SPOT(x, y, z) x, y, z
EMU_SURFACE(surf1D, (x, 0, 0), int x)
EMU_SURFACE(surf2D, (x, y, 0), int x, int y)
EMU_SURFACE(surf3D, (x, y, z), int x, int y, int z)
EMU_SURFACE(surf1DLayered, (x, 0, layer), int x, int layer)
EMU_SURFACE(surf2DLayered, (x, y, layer), int x, int y, int layer)
#undef EMU_SURFACE
#undef EMU_SPOT
// NOLINTEND
