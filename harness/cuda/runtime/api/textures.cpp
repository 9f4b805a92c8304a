// Texture and surface objects, and what a fetch finds (CUDA programming guide, appendix on texture fetching).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "api/arrays.h"
#include "cuda_runtime_api.h"
#include "emu/texel.h"
#include "run/state.h"

using namespace emu;

namespace {

/// A texture or surface object.
struct Bound {
    cudaResourceDesc resource;
    cudaTextureDesc how;
    cudaChannelFormatDesc format;
    unsigned char* data;
    long width, height, depth;  // of the coordinates; 1 where there is none
    size_t pitch, slice;        // bytes
    unsigned channels, bytes;   // of an element
};

std::set<const Bound*>& objects() {
    static auto* instance = new std::set<const Bound*>;
    return *instance;
}

cudaError_t refuse(const char* call, const char* text) {
    return static_cast<cudaError_t>(fail(call, cudaErrorInvalidValue, text));
}

void measure(Bound& bound) {
    const cudaChannelFormatDesc& f = bound.format;
    bound.channels = static_cast<unsigned>((f.x != 0) + (f.y != 0) + (f.z != 0) + (f.w != 0));
    bound.bytes = static_cast<unsigned>(f.x + f.y + f.z + f.w) / 8;
}

bool bind(Bound& bound) {
    const auto& res = bound.resource.res;
    bound.height = bound.depth = 1;
    if (bound.resource.resType == cudaResourceTypeArray) {
        const cudaArray_const_t array = res.array.array;
        if (!is_array(array)) return false;
        bound.format = array->format;
        bound.data = array->data;
        bound.width = static_cast<long>(array->extent.width);
        bound.height = static_cast<long>(array->rows());
        bound.depth = static_cast<long>(array->slices());
        bound.pitch = array->pitch();
        bound.slice = array->pitch() * array->rows();
    } else if (bound.resource.resType == cudaResourceTypeLinear) {
        bound.format = res.linear.desc;
        bound.data = static_cast<unsigned char*>(res.linear.devPtr);
        bound.width = static_cast<long>(res.linear.sizeInBytes);  // bytes, until they are measured
        bound.pitch = bound.slice = res.linear.sizeInBytes;
    } else if (bound.resource.resType == cudaResourceTypePitch2D) {
        bound.format = res.pitch2D.desc;
        bound.data = static_cast<unsigned char*>(res.pitch2D.devPtr);
        bound.width = static_cast<long>(res.pitch2D.width);
        bound.height = static_cast<long>(res.pitch2D.height);
        bound.pitch = res.pitch2D.pitchInBytes;
        bound.slice = bound.pitch * res.pitch2D.height;
    } else {
        list_unsupported("mipmapped arrays", Site{"", 0});
        return false;
    }
    measure(bound);
    if (bound.resource.resType == cudaResourceTypeLinear && bound.bytes) bound.width /= bound.bytes;
    return bound.data && bound.bytes && bound.channels;
}

cudaError_t create(const char* call, unsigned long long* object, const cudaResourceDesc* resource,
                   const cudaTextureDesc& how) {
    if (state().sticky_error) return static_cast<cudaError_t>(state().sticky_error);
    if (!object || !resource) return refuse(call, "a null pointer");
    auto* bound = new Bound{*resource, how, {}, nullptr, 1, 1, 1, 0, 0, 0, 0};
    if (!bind(*bound)) {
        delete bound;
        return refuse(call, "the resource is none that a texture can have");
    }
    objects().insert(bound);
    *object = reinterpret_cast<unsigned long long>(bound);
    return cudaSuccess;
}

cudaError_t destroy(const char* call, unsigned long long object) {
    auto* bound = reinterpret_cast<const Bound*>(object);
    if (!objects().erase(bound)) return refuse(call, "the object does not exist");
    return cudaSuccess;  // kept: a stale handle must not name another's
}

const Bound& bound_by(unsigned long long object, const char* what, Site site) {
    auto* bound = reinterpret_cast<const Bound*>(object);
    if (!objects().count(bound)) trap("trap", what, site);
    return *bound;
}

/// Where coordinate `i` of `size` elements leads; -1: to the border.
long addressed(long i, long size, cudaTextureAddressMode mode, bool normalized) {
    if (mode == cudaAddressModeBorder) return i < 0 || i >= size ? -1 : i;
    if (mode == cudaAddressModeClamp || !normalized) return std::clamp(i, 0L, size - 1);
    const long period = mode == cudaAddressModeMirror ? 2 * size : size;
    const long at = ((i % period) + period) % period;
    return at < size ? at : period - 1 - at;
}

float half_of(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, rest = bits & 0x7FFFu;
    float value;
    if (rest >= 0x7C00u) {
        const uint32_t word = sign | 0x7F800000u | (rest & 0x3FFu) << 13;
        std::memcpy(&value, &word, sizeof value);
        return value;
    }
    value = std::ldexp(static_cast<float>(rest & 0x3FFu) + (rest >> 10 ? 1024.0f : 0.0f),
                       static_cast<int>(rest >> 10 ? rest >> 10 : 1) - 25);
    return sign ? -value : value;
}

/// An element's channels: floats where the format or the reading mode makes them so.
Texel read(const Bound& bound, const unsigned char* place) {
    const unsigned bytes = bound.bytes / bound.channels;
    const bool normalized = bound.how.readMode == cudaReadModeNormalizedFloat && bytes < 4;
    const bool is_float = bound.format.f == cudaChannelFormatKindFloat;
    Texel texel{{0, 0, 0, 0}, is_float || normalized};
    for (unsigned c = 0; c < bound.channels; ++c) {
        uint32_t word = 0;
        std::memcpy(&word, place + c * bytes, bytes);
        if (bound.format.f == cudaChannelFormatKindSigned && bytes < 4) {
            const unsigned shift = 32 - 8 * bytes;
            word = static_cast<uint32_t>(static_cast<int32_t>(word << shift) >> shift);
        }
        float value = 0.0f;
        if (is_float && bytes == 2) {
            value = half_of(static_cast<uint16_t>(word));
        } else if (normalized && !is_float) {
            const bool is_signed = bound.format.f == cudaChannelFormatKindSigned;
            const float most = static_cast<float>((1u << (8 * bytes - (is_signed ? 1 : 0))) - 1u);
            value = is_signed ? std::max(static_cast<float>(static_cast<int32_t>(word)) / most, -1.0f)
                              : static_cast<float>(word) / most;
        } else {
            texel.words[c] = word;
            continue;
        }
        std::memcpy(&texel.words[c], &value, sizeof value);
    }
    return texel;
}

/// One fetch: its object, its slice, and where the author asks for it.
struct Fetch {
    const Bound& bound;
    long layer;
    const void* pc;

    bool normalized() const { return bound.how.normalizedCoords != 0; }
    Texel at(long x, long y, long z) const {
        const auto& mode = bound.how.addressMode;
        x = addressed(x, bound.width, mode[0], normalized());
        y = addressed(y, bound.height, mode[1], normalized());
        z = layer >= 0 ? layer : addressed(z, bound.depth, mode[2], normalized());
        if (x < 0 || y < 0 || z < 0) return border();
        const unsigned char* place = bound.data + static_cast<size_t>(z) * bound.slice +
                                     static_cast<size_t>(y) * bound.pitch + static_cast<size_t>(x) * bound.bytes;
        access(place, bound.bytes, false, pc);
        return read(bound, place);
    }
    Texel border() const {
        Texel texel{{0, 0, 0, 0}, bound.format.f == cudaChannelFormatKindFloat ||
                                      bound.how.readMode == cudaReadModeNormalizedFloat};
        if (texel.floating) std::memcpy(texel.words, bound.how.borderColor, sizeof texel.words);
        return texel;
    }
};

/// The element before a coordinate, and how far behind it that lies, in 1/256 as the device keeps it.
struct Between {
    long first;
    float share;
};
Between between(float x) {
    const float at = x - 0.5f, floor = std::floor(at);
    return {static_cast<long>(floor), std::round((at - floor) * 256.0f) / 256.0f};
}

Texel filtered(const Fetch& fetch, unsigned dimensions, float x, float y, float z) {
    const Between none{0, 0.0f};
    const Between bx = between(x), by = dimensions > 1 ? between(y) : none, bz = dimensions > 2 ? between(z) : none;
    float sums[4] = {0, 0, 0, 0};
    for (unsigned corner = 0; corner < 1u << dimensions; ++corner) {
        const bool i = corner & 1, j = corner & 2, k = corner & 4;
        const float weight = (i ? bx.share : 1 - bx.share) * (j ? by.share : 1 - by.share) *
                             (k ? bz.share : 1 - bz.share);
        if (weight == 0.0f) continue;
        const Texel texel = fetch.at(bx.first + i, by.first + j, bz.first + k);
        for (unsigned c = 0; c < 4; ++c) {
            float value;
            std::memcpy(&value, &texel.words[c], sizeof value);
            sums[c] += weight * value;
        }
    }
    Texel result{{0, 0, 0, 0}, true};
    std::memcpy(result.words, sums, sizeof sums);
    return result;
}

/// The face of a cube that a direction meets, and where.
void face_of(const Spot& spot, long& face, float& s, float& t) {
    const float ax = std::fabs(spot.x), ay = std::fabs(spot.y), az = std::fabs(spot.z);
    float most;
    if (ax >= ay && ax >= az) {
        face = spot.x >= 0 ? 0 : 1, most = ax, s = spot.x >= 0 ? -spot.z : spot.z, t = -spot.y;
    } else if (ay >= az) {
        face = spot.y >= 0 ? 2 : 3, most = ay, s = spot.x, t = spot.y >= 0 ? spot.z : -spot.z;
    } else {
        face = spot.z >= 0 ? 4 : 5, most = az, s = spot.z >= 0 ? spot.x : -spot.x, t = -spot.y;
    }
    s = (s / most + 1) / 2;
    t = (t / most + 1) / 2;
}

constexpr const char* kNoTexture = "a fetch from a texture object that does not exist";

}  // namespace

namespace emu::api {

Texel sample(cudaTextureObject_t texture, const Spot& spot, const void* pc, Site site) {
    const Bound& bound = bound_by(texture, kNoTexture, site);
    float x = spot.x, y = spot.y, z = spot.z;
    const bool layered = bound.resource.resType == cudaResourceTypeArray && spot.dimensions < 3 &&
                         bound.resource.res.array.array->flags & (cudaArrayLayered | cudaArrayCubemap);
    long layer = layered ? std::clamp<long>(spot.layer, 0, bound.depth - 1) : -1;
    if (spot.cube) {
        long face = 0;
        face_of(spot, face, x, y);
        layer = std::clamp<long>(spot.layer * 6L + face, 0, bound.depth - 1);
    }
    if (bound.how.normalizedCoords || spot.cube) {
        x *= static_cast<float>(bound.width), y *= static_cast<float>(bound.height), z *= static_cast<float>(bound.depth);
    }
    const Fetch fetch{bound, layer, pc};
    const bool floating = bound.format.f == cudaChannelFormatKindFloat ||
                          bound.how.readMode == cudaReadModeNormalizedFloat;
    if (bound.how.filterMode == cudaFilterModeLinear && floating) return filtered(fetch, spot.dimensions, x, y, z);
    return fetch.at(static_cast<long>(std::floor(x)), spot.dimensions > 1 ? static_cast<long>(std::floor(y)) : 0,
                    spot.dimensions > 2 ? static_cast<long>(std::floor(z)) : 0);
}

// past the end a fetch finds zeros
Texel fetch_linear(cudaTextureObject_t texture, int index, const void* pc, Site site) {
    const Bound& bound = bound_by(texture, kNoTexture, site);
    if (index < 0 || index >= bound.width) return Texel{{0, 0, 0, 0}, read(bound, bound.data).floating};
    const unsigned char* place = bound.data + static_cast<size_t>(index) * bound.bytes;
    access(place, bound.bytes, false, pc);
    return read(bound, place);
}

// counter-clockwise from the lower left
Texel gather(cudaTextureObject_t texture, float x, float y, int channel, const void* pc, Site site) {
    const Bound& bound = bound_by(texture, kNoTexture, site);
    if (bound.how.normalizedCoords) x *= static_cast<float>(bound.width), y *= static_cast<float>(bound.height);
    const Fetch fetch{bound, -1, pc};
    const long i = between(x).first, j = between(y).first;
    const Texel corners[] = {fetch.at(i, j + 1, 0), fetch.at(i + 1, j + 1, 0), fetch.at(i + 1, j, 0), fetch.at(i, j, 0)};
    Texel result{{0, 0, 0, 0}, corners[0].floating};
    for (unsigned c = 0; c < 4; ++c) result.words[c] = corners[c].words[channel & 3];
    return result;
}

void* element(cudaSurfaceObject_t surface, int x, int y, int z, unsigned bytes, int mode, Site site) {
    const Bound& bound = bound_by(surface, "a surface object that does not exist", site);
    const long row = static_cast<long>(bound.width * bound.bytes);
    const bool inside = x >= 0 && x + static_cast<long>(bytes) <= row && y >= 0 && y < bound.height && z >= 0 &&
                        z < bound.depth;
    if (!inside && mode == cudaBoundaryModeZero) return nullptr;
    if (!inside && mode == cudaBoundaryModeTrap) {
        const std::string text = "byte " + std::to_string(x) + " of row " + std::to_string(y) + " of a surface with " +
                                 std::to_string(row) + " bytes in each of " + std::to_string(bound.height) + " rows";
        trap("out_of_bounds", text.c_str(), site);
    }
    x = static_cast<int>(std::clamp<long>(x, 0, row - static_cast<long>(bytes)));
    y = static_cast<int>(std::clamp<long>(y, 0, bound.height - 1));
    z = static_cast<int>(std::clamp<long>(z, 0, bound.depth - 1));
    return bound.data + static_cast<size_t>(z) * bound.slice + static_cast<size_t>(y) * bound.pitch +
           static_cast<size_t>(x);
}

}  // namespace emu::api

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* how, const cudaResourceViewDesc*) {
    return create("cudaCreateTextureObject", texture, resource, how ? *how : cudaTextureDesc{});
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    return destroy("cudaDestroyTextureObject", texture);
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
    auto* bound = reinterpret_cast<const Bound*>(texture);
    if (!objects().count(bound)) return refuse("cudaGetTextureObjectResourceDesc", "the object does not exist");
    *resource = bound->resource;
    return cudaSuccess;
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* how, cudaTextureObject_t texture) {
    auto* bound = reinterpret_cast<const Bound*>(texture);
    if (!objects().count(bound)) return refuse("cudaGetTextureObjectTextureDesc", "the object does not exist");
    *how = bound->how;
    return cudaSuccess;
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
    if (resource && resource->resType == cudaResourceTypeArray && is_array(resource->res.array.array) &&
        !(resource->res.array.array->flags & cudaArraySurfaceLoadStore)) {
        return refuse("cudaCreateSurfaceObject", "the array was not made with cudaArraySurfaceLoadStore");
    }
    return create("cudaCreateSurfaceObject", surface, resource, cudaTextureDesc{});
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
    return destroy("cudaDestroySurfaceObject", surface);
}
