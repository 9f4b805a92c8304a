// What the runtime answers to a fetch from a texture.
#pragma once

#include "../cuda_texture_types.h"

namespace emu {

struct Site;

/// Up to four channels as 32-bit words: of floats when `floating`, else of integers.
struct Texel {
    unsigned words[4];
    bool floating;
};

/// Where a fetch goes: coordinates by dimension, and a layer (or a cube's face and layer).
struct Spot {
    unsigned dimensions;
    float x, y, z;
    int layer;
    bool cube;
};

namespace api {

Texel sample(cudaTextureObject_t texture, const Spot& spot, const void* pc, Site site);
Texel fetch_linear(cudaTextureObject_t texture, int index, const void* pc, Site site);
Texel gather(cudaTextureObject_t texture, float x, float y, int channel, const void* pc, Site site);
/// Where a surface's element is; null when it lies outside and `mode` makes nothing of it. Byte x, row y, slice z.
void* element(cudaSurfaceObject_t surface, int x, int y, int z, unsigned bytes, int mode, Site site);

}  // namespace api

}  // namespace emu
