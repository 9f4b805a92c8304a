// The device's heap: each kernel makes what others use, free or forget.
#include "device.h"

struct Cell {
    float value;
    Cell* next;
};
__device__ Cell* handed;

__global__ void kept(float* out) {
    float* scratch = new float[8]();
    out[threadIdx.x] = scratch[threadIdx.x % 8];
    delete[] scratch;
}
__global__ void deleted_twice(float* out) {
    float* value = new float(3);
    out[threadIdx.x] = *value;
    delete value;
    delete value;  // FAULT double_free
}
__global__ void used_after_delete(float* out) {
    Cell* cell = new Cell{1, nullptr};
    delete cell;
    out[threadIdx.x] = cell->value;  // FAULT use_after_free
}
__global__ void past_its_end(float* out) {
    float* scratch = new float[4];
    for (int i = 0; i <= 4; i++) scratch[i] = i;  // FAULT out_of_bounds
    out[threadIdx.x] = scratch[0];
    delete[] scratch;
}
__global__ void inside_freed(float* out) {
    float* scratch = static_cast<float*>(malloc(4 * sizeof(float)));
    scratch[1] = threadIdx.x;
    out[threadIdx.x] = scratch[1];
    free(scratch + 1);  // FAULT invalid_free
}
__global__ void never_set(float* out) {
    Cell* cell = new Cell;
    out[threadIdx.x] = cell->value + 1;  // FAULT uninitialized_read
    delete cell;
}
__global__ void heap_ran_out(float* out) {
    float* scratch = static_cast<float*>(malloc(size_t(64) << 20));
    scratch[0] = threadIdx.x;  // FAULT null_pointer
    out[threadIdx.x] = scratch[0];
    free(scratch);
}
__global__ void host_memory_freed(float* out) {
    out[threadIdx.x] = 1;
    if (threadIdx.x == 31) free(out);  // FAULT invalid_free
}
__global__ void made(float* out) {
    if (threadIdx.x == 0) handed = new Cell{2, nullptr};
    out[threadIdx.x] = 0;
}
__global__ void taken(float* out) {
    out[threadIdx.x] = handed->value;
    __syncwarp();
    if (threadIdx.x == 0) delete handed;
}

int main() {
    kept<<<1, 32>>>(zeros<float>());
    deleted_twice<<<1, 32>>>(zeros<float>());
    used_after_delete<<<1, 32>>>(zeros<float>());
    past_its_end<<<1, 32>>>(zeros<float>());
    inside_freed<<<1, 32>>>(zeros<float>());
    never_set<<<1, 32>>>(zeros<float>());
    host_memory_freed<<<1, 32>>>(zeros<float>());
    made<<<1, 32>>>(zeros<float>());
    taken<<<1, 32>>>(zeros<float>());
    heap_ran_out<<<1, 32>>>(zeros<float>());
    cudaDeviceSynchronize();
}
