// cuBLAS adds, scales, copies and sums vectors whose elements lie apart, and brings them to the device and back.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>

int main() {
    constexpr int n = 5, room = 2 * n;
    const float x[n] = {1, -2, 3, -4, 5}, two = 2;
    float *first, *second, got[n], dot, norm, sum;
    cudaMalloc(&first, room * sizeof(float));
    cudaMalloc(&second, n * sizeof(float));
    cublasHandle_t handle;
    cublasCreate(&handle);
    int wrong = 0, place = 0;
    wrong += cublasSetVector(n, sizeof(float), x, 1, first, 2) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasScopy(handle, n, first, 2, second, 1) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasSaxpy(handle, n, &two, first, 2, second, 1) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasSscal(handle, n, &two, first, 2) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasSdot(handle, n, first, 2, second, 1, &dot) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasSnrm2(handle, n, second, 1, &norm) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasSasum(handle, n, second, 1, &sum) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasIsamax(handle, n, second, 1, &place) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasGetVector(n, sizeof(float), second, 1, got, 1) != CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < n; ++i) wrong += got[i] != 3 * x[i];
    wrong += dot != 330 || sum != 45 || place != n || std::fabs(norm - std::sqrt(495.0f)) > 1e-4f;

    // from the last element on
    wrong += cublasScopy(handle, n, first, -2, second, 1) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasSswap(handle, n, first, 2, second, 1) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasGetVector(n, sizeof(float), first, 2, got, 1) != CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < n; ++i) wrong += got[i] != 2 * x[n - 1 - i];

    const double square[4] = {1, 2, 3, 4};
    double *matrix, corner[1];
    cudaMalloc(&matrix, sizeof square);
    wrong += cublasSetMatrix(2, 2, sizeof(double), square, 2, matrix, 2) != CUBLAS_STATUS_SUCCESS;
    wrong += cublasGetMatrix(1, 1, sizeof(double), matrix + 3, 2, corner, 1) != CUBLAS_STATUS_SUCCESS;
    wrong += corner[0] != 4;
    cublasDestroy(handle);
    cudaFree(first);
    cudaFree(second);
    cudaFree(matrix);
    return wrong;
}
