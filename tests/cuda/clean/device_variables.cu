// Counters and a table that live on the device: initialised, changed by the host, written by kernels, copied back.
#include "device.h"

__device__ int table[4] = {3, 1, 4, 1};
__device__ unsigned long long visits = 0;
__device__ double sum;

__global__ void visit(int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&visits, 1ull);
        atomicAdd(&sum, 0.5 * table[i % 4]);
    }
}

int main() {
    const int last = 9;
    const double zero = 0;
    double got_sum;
    unsigned long long got_visits;
    must(cudaMemcpyToSymbol(table, &last, sizeof(int), 3 * sizeof(int)), "cudaMemcpyToSymbol");
    must(cudaMemcpyToSymbol(sum, &zero, sizeof(zero)), "cudaMemcpyToSymbol");
    visit<<<2, 64>>>(100);
    must(cudaMemcpyFromSymbol(&got_visits, visits, sizeof(got_visits)), "cudaMemcpyFromSymbol");
    must(cudaMemcpyFromSymbol(&got_sum, sum, sizeof(got_sum)), "cudaMemcpyFromSymbol");
    std::vector<double> right = {100.0, 25 * 0.5 * (3 + 1 + 4 + 9)};
    return compare(std::vector<double>{double(got_visits), got_sum}, right, 0.0);
}
