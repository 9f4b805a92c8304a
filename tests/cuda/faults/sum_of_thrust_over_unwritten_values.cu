// Memory is summed that nobody wrote.
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include <cuda_runtime.h>

int main() {
    int* values;
    cudaMalloc(&values, 64 * sizeof(int));
    const int sum = thrust::reduce(thrust::device, values, values + 64);  // FAULT uninitialized_read
    cudaFree(values);
    return sum == 5;
}
