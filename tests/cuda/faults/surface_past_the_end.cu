// Columns of a surface are in bytes; here the last thread writes past the row.
#include <cuda_runtime.h>

__global__ void fill(cudaSurfaceObject_t surface) {
    surf2Dwrite(1.0f, surface, 4 * static_cast<int>(threadIdx.x + 1), 0);  // FAULT out_of_bounds
}

int main() {
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, 32, 1, cudaArraySurfaceLoadStore);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    cudaCreateSurfaceObject(&surface, &resource);
    fill<<<1, 32>>>(surface);
    cudaDeviceSynchronize();
    cudaFreeArray(array);
}
