// A flag that is raised without release says nothing of what was written before.
#include <cuda/atomic>
#include <cuda_runtime.h>

__global__ void pass_on(int* message, int* flag, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> raised(*flag);
    if (blockIdx.x == 0) {
        *message = 7;  // FAULT global_race
        raised.store(1, cuda::memory_order_relaxed);
    } else {
        while (raised.load(cuda::memory_order_acquire) == 0) {
        }
        *out = *message;  // FAULT global_race
    }
}

int main() {
    int* words;
    cudaMalloc(&words, 3 * sizeof(int));
    cudaMemset(words, 0, 3 * sizeof(int));
    pass_on<<<2, 1>>>(words, words + 1, words + 2);
    cudaDeviceSynchronize();
    cudaFree(words);
}
