// A helper that times functions is handed a kernel, and calls it as one.
#include <cuda_runtime.h>

__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }  // FAULT no_launch_configuration

template <class Function, class... Arguments>
void repeat(int times, Function function, Arguments... arguments) {
    for (int i = 0; i < times; ++i) {
        function(arguments...);
    }
}

int main() {
    float* x;
    cudaMalloc(&x, 64 * sizeof(float));
    repeat(2, fill, x);
    cudaDeviceSynchronize();
}
