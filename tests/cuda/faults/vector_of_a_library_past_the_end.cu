// cuBLAS is given twice as large a step through x as x has room for.
#include <cublas_v2.h>
#include <cuda_runtime.h>

int main() {
    constexpr int n = 64;
    const float host[n] = {}, one = 1;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cublasHandle_t handle;
    cublasCreate(&handle);
    cublasSetVector(n, sizeof(float), host, 1, x, 1);
    cublasSetVector(n, sizeof(float), host, 1, y, 1);
    cublasSaxpy(handle, n, &one, x, 2, y, 1);  // FAULT out_of_bounds
    cublasDestroy(handle);
    cudaFree(x);
    cudaFree(y);
    return 0;
}
