// A texture is read, and its array has never been written.
#include <cuda_runtime.h>

__global__ void copy(cudaTextureObject_t texture, float* out) {
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 0.5f);  // FAULT uninitialized_read
}

int main() {
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, 32, 1);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    float* out;
    cudaMalloc(&out, 32 * sizeof(float));
    copy<<<1, 32>>>(texture, out);
    cudaDeviceSynchronize();
    cudaFree(out);
    cudaFreeArray(array);
}
