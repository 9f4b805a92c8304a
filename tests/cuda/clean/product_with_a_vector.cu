// cuBLAS multiplies a matrix, as it lies and transposed, with a vector whose elements lie apart.
#include <cublas_v2.h>
#include <cuda_runtime.h>

__global__ void fill(double* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = i;
}

int main() {
    constexpr int rows = 3, columns = 4;
    double *matrix, *vector, *out, got[rows + columns], one = 1, none = 0;
    cudaMalloc(&matrix, rows * columns * sizeof(double));
    cudaMalloc(&vector, 2 * columns * sizeof(double));
    cudaMalloc(&out, (rows + columns) * sizeof(double));
    fill<<<1, 32>>>(matrix, rows * columns);
    fill<<<1, 32>>>(vector, 2 * columns);
    cublasHandle_t handle;
    cublasCreate(&handle);
    if (cublasDgemv(handle, CUBLAS_OP_N, rows, columns, &one, matrix, rows, vector, 2, &none, out, 1)) return 2;
    if (cublasDgemv(handle, CUBLAS_OP_T, rows, columns, &one, matrix, rows, vector, 1, &none, out + rows, 1)) return 3;
    cublasDestroy(handle);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < rows; ++i) {
        double sum = 0;
        for (int j = 0; j < columns; ++j) sum += (j * rows + i) * 2 * j;
        wrong += got[i] != sum;
    }
    for (int j = 0; j < columns; ++j) {
        double sum = 0;
        for (int i = 0; i < rows; ++i) sum += (j * rows + i) * i;
        wrong += got[rows + j] != sum;
    }
    cudaFree(matrix);
    cudaFree(vector);
    cudaFree(out);
    return wrong != 0;
}
