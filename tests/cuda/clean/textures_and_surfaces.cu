// Fetches by every address mode, with and without filtering, from arrays of one to three dimensions, layers and faces.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call)                                                        \
    do {                                                                   \
        if ((call) != cudaSuccess) return std::printf("line %d\n", __LINE__), 1; \
    } while (0)

__global__ void sampled(cudaTextureObject_t wrap, cudaTextureObject_t clamp, cudaTextureObject_t border,
                        cudaTextureObject_t mirror, float* out) {
    out[0] = tex2D<float>(wrap, 1.0f + 0.5f / 4, 0.5f / 2);      // one element past the end: the first again
    out[1] = tex2D<float>(wrap, 1.0f / 4, 0.5f / 2);             // halfway between the first two
    out[2] = tex2D<float>(clamp, 9.5f, 1.5f);                    // the last of its row
    out[3] = tex2D<float>(border, -0.5f, 0.5f);                  // outside
    out[4] = tex2D<float>(mirror, -0.5f / 4, 0.5f / 2);          // the first
    out[5] = tex2D<float>(mirror, 1.0f + 0.5f / 4, 0.5f / 2);    // the last
    out[6] = tex2D<float>(clamp, 1.0f, 1.0f);                    // between four
}

__global__ void others(cudaTextureObject_t volume, cudaTextureObject_t layers, cudaTextureObject_t cube,
                       cudaTextureObject_t bytes, cudaTextureObject_t line, float* out) {
    out[0] = tex3D<float>(volume, 1.5f, 0.5f, 1.5f);
    out[1] = tex2DLayered<float>(layers, 0.5f, 1.5f, 1);
    out[2] = texCubemap<float>(cube, -1.0f, 0.25f, 0.25f);
    const float4 colour = tex2D<float4>(bytes, 1.5f, 0.5f);
    out[3] = colour.x + colour.w;
    out[4] = static_cast<float>(tex1Dfetch<int>(line, 2)) + tex1Dfetch<int>(line, 99);
}

__global__ void written(cudaSurfaceObject_t surface, int width, int height) {
    const int x = threadIdx.x, y = threadIdx.y;
    if (x < width && y < height) surf2Dwrite(static_cast<float>(10 * y + x), surface, x * static_cast<int>(sizeof(float)), y);
    surf2Dwrite(-1.0f, surface, 4 * width, y, cudaBoundaryModeZero);
}

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureAddressMode mode, bool normalized, bool linear,
                               cudaTextureReadMode read = cudaReadModeElementType) {
    cudaResourceDesc resource;
    cudaTextureDesc how;
    std::memset(&resource, 0, sizeof resource);
    std::memset(&how, 0, sizeof how);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    for (auto& one : how.addressMode) one = mode;
    how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    how.readMode = read;
    how.normalizedCoords = normalized;
    cudaTextureObject_t texture = 0;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    return texture;
}

template <class T>
cudaArray_t array_of(const T* values, size_t width, size_t height, size_t depth, unsigned flags) {
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    if (cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags)) return nullptr;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(const_cast<T*>(values), width * sizeof(T), width, height);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(width, height, depth ? depth : 1);
    copy.kind = cudaMemcpyHostToDevice;
    return cudaMemcpy3D(&copy) ? nullptr : array;
}

int main() {
    float values[8], many[24], got[12], *out;
    for (int i = 0; i < 8; ++i) values[i] = static_cast<float>(i);
    for (int i = 0; i < 24; ++i) many[i] = static_cast<float>(i);
    const uchar4 colours[2] = {make_uchar4(0, 0, 0, 0), make_uchar4(255, 0, 0, 51)};
    const int numbers[3] = {5, 6, 7};
    CHECK(cudaMalloc(&out, sizeof got));
    cudaArray_t plane;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    CHECK(cudaMallocArray(&plane, &format, 4, 2, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(plane, 0, 0, values, 16, 16, 2, cudaMemcpyHostToDevice));
    sampled<<<1, 1>>>(texture_of(plane, cudaAddressModeWrap, true, true), texture_of(plane, cudaAddressModeClamp, false, true),
                      texture_of(plane, cudaAddressModeBorder, false, false),
                      texture_of(plane, cudaAddressModeMirror, true, false), out);
    CHECK(cudaDeviceSynchronize());

    cudaArray_t volume = array_of(many, 2, 2, 6, cudaArrayDefault), layers = array_of(many, 2, 2, 6, cudaArrayLayered);
    cudaArray_t cube = array_of(many, 2, 2, 6, cudaArrayCubemap), bytes = array_of(colours, 2, 1, 0, cudaArrayDefault);
    int* line;
    CHECK(cudaMalloc(&line, sizeof numbers));
    CHECK(cudaMemcpy(line, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    cudaResourceDesc linear = {};
    cudaTextureDesc plain = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = line;
    linear.res.linear.desc = cudaCreateChannelDesc<int>();
    linear.res.linear.sizeInBytes = sizeof numbers;
    cudaTextureObject_t fetched;
    CHECK(cudaCreateTextureObject(&fetched, &linear, &plain, nullptr));
    others<<<1, 1>>>(texture_of(volume, cudaAddressModeClamp, false, false),
                     texture_of(layers, cudaAddressModeClamp, false, false),
                     texture_of(cube, cudaAddressModeClamp, true, false),
                     texture_of(bytes, cudaAddressModeClamp, false, false, cudaReadModeNormalizedFloat), fetched, out + 7);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    const float wanted[12] = {0, 0.5f, 7, 0, 0, 3, 2.5f, 5, 6, 5, 1.2f, 7};
    int wrong = 0;
    for (int i = 0; i < 12; ++i) {
        if (!(got[i] > wanted[i] - 1e-6f && got[i] < wanted[i] + 1e-6f)) ++wrong, std::printf("%d: %g\n", i, got[i]);
    }

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = plane;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    written<<<1, dim3(4, 2)>>>(surface, 4, 2);
    CHECK(cudaMemcpy2DFromArray(values, 16, plane, 0, 0, 16, 2, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; ++i) wrong += values[i] != static_cast<float>(10 * (i / 4) + i % 4);
    CHECK(cudaDestroyTextureObject(fetched));
    CHECK(cudaDestroySurfaceObject(surface));
    for (cudaArray_t array : {plane, volume, layers, cube, bytes}) CHECK(cudaFreeArray(array));
    cudaFree(line);
    cudaFree(out);
    return wrong != 0;
}
