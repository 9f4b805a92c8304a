// A store in inline PTX, one element too far.
#include <cuda_runtime.h>

__global__ void fill(float* out) {
    asm volatile("st.global.f32 [%0 + 4], %1;" ::"l"(out + threadIdx.x), "f"(1.0f) : "memory");  // FAULT out_of_bounds
}

int main() {
    float* out;
    cudaMalloc(&out, 32 * sizeof(float));
    fill<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
}
