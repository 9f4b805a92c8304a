// The part of cuBLAS that kernels are compared with: products of matrices, what is done to vectors, and copies.
#pragma once

#define CUBLAS_API_H_

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "emu/gemm.h"
#include "emu/vectors.h"
#include "library_types.h"

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
} cublasMath_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
#define CUBLAS_GEMM_DFALT CUBLAS_GEMM_DEFAULT

struct cublasContext {
    cudaStream_t stream = nullptr;
    cublasMath_t math = CUBLAS_DEFAULT_MATH;
};
typedef cublasContext* cublasHandle_t;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    *handle = new cublasContext;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t math) {
    handle->math = math;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* math) {
    *math = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t mode) {
    return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
inline const char* cublasGetStatusName(cublasStatus_t status) {
    switch (status) {
        case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
        case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
        case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
        default: return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}
inline const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

namespace emu {

/// Whether the leading dimensions hold the matrices.
inline bool consistent(Extents e, cublasOperation_t a, int lda, cublasOperation_t b, int ldb, int ldc) {
    const int rows_a = a == CUBLAS_OP_N ? e.m : e.k, rows_b = b == CUBLAS_OP_N ? e.k : e.n;
    const auto holds = [](int leading, int rows) { return leading >= (rows > 1 ? rows : 1); };
    return e.m >= 0 && e.n >= 0 && e.k >= 0 && holds(lda, rows_a) && holds(ldb, rows_b) && holds(ldc, e.m);
}

template <class T, class C, class Sum>
EMU_OUTLINE cublasStatus_t gemm(const char* name, cudaStream_t stream, cublasOperation_t op_a, cublasOperation_t op_b,
                                Extents e, Sum alpha, const void* a, int lda, long long stride_a, const void* b,
                                int ldb, long long stride_b, Sum beta, void* c, int ldc, long long stride_c,
                                int batch, Epilogue epilogue = {}, const void* pc = nullptr) {
    if (!consistent(e, op_a, lda, op_b, ldb, ldc) || batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
    multiply_batch<T, C, Sum>(name, stream, e, alpha,
                              {static_cast<const T*>(a), lda, op_a != CUBLAS_OP_N}, stride_a,
                              {static_cast<const T*>(b), ldb, op_b != CUBLAS_OP_N}, stride_b, beta,
                              {static_cast<C*>(c), ldc, false}, stride_c, batch, epilogue, pc ? pc : EMU_PC);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace emu

#define EMU_GEMM(letter, T, Sum)                                                                                      \
    EMU_INLINE cublasStatus_t cublas##letter##gemm(cublasHandle_t handle, cublasOperation_t op_a,                     \
                                                   cublasOperation_t op_b, int m, int n, int k, const T* alpha,      \
                                                   const T* a, int lda, const T* b, int ldb, const T* beta, T* c,    \
                                                   int ldc) {                                                        \
        return emu::gemm<T, T, Sum>("cublas" #letter "gemm", handle->stream, op_a, op_b, {m, n, k}, Sum(*alpha), a,  \
                                    lda, 0, b, ldb, 0, Sum(*beta), c, ldc, 0, 1);                                    \
    }                                                                                                                \
    EMU_INLINE cublasStatus_t cublas##letter##gemmStridedBatched(                                                    \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const T* alpha,  \
        const T* a, int lda, long long stride_a, const T* b, int ldb, long long stride_b, const T* beta, T* c,       \
        int ldc, long long stride_c, int batch) {                                                                    \
        return emu::gemm<T, T, Sum>("cublas" #letter "gemmStridedBatched", handle->stream, op_a, op_b, {m, n, k},    \
                                    Sum(*alpha), a, lda, stride_a, b, ldb, stride_b, Sum(*beta), c, ldc, stride_c,   \
                                    batch);                                                                          \
    }
EMU_GEMM(S, float, float)
EMU_GEMM(D, double, double)
EMU_GEMM(H, __half, float)

// a product with one column; a result with gaps is not offered
#define EMU_GEMV(letter, T)                                                                                          \
    EMU_INLINE cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n,        \
                                                   const T* alpha, const T* a, int lda, const T* x, int step_x,      \
                                                   const T* beta, T* y, int step_y) {                                \
        if (step_x < 1 || step_y != 1) return CUBLAS_STATUS_NOT_SUPPORTED;                                           \
        const int rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;                             \
        return emu::gemm<T, T, T>("cublas" #letter "gemv", handle->stream, op, CUBLAS_OP_T, {rows, 1, columns},      \
                                  *alpha, a, lda, 0, x, step_x, 0, *beta, y, rows > 0 ? rows : 1, 0, 1);             \
    }
EMU_GEMV(S, float)
EMU_GEMV(D, double)

// results of sums go to host memory, as in the default pointer mode; a step below 1 makes a lone vector empty
#define EMU_LEVEL_1(letter, small, T)                                                                                 \
    EMU_INLINE cublasStatus_t cublas##letter##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x,         \
                                                   int step_x, T* y, int step_y) {                                   \
        if (n > 0)                                                                                                   \
            emu::add_scaled<T>("cublas" #letter "axpy", handle->stream, *alpha, {x, step_x, n}, {y, step_y, n});     \
        return CUBLAS_STATUS_SUCCESS;                                                                                \
    }                                                                                                                \
    EMU_INLINE cublasStatus_t cublas##letter##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int step) {   \
        if (n > 0 && step > 0) emu::scale<T>("cublas" #letter "scal", handle->stream, *alpha, {x, step, n});         \
        return CUBLAS_STATUS_SUCCESS;                                                                                \
    }                                                                                                                \
    EMU_INLINE cublasStatus_t cublas##letter##copy(cublasHandle_t handle, int n, const T* x, int step_x, T* y,       \
                                                   int step_y) {                                                     \
        T* from = const_cast<T*>(x);                                                                                 \
        if (n > 0) emu::move<T>("cublas" #letter "copy", handle->stream, {from, step_x, n}, {y, step_y, n}, false);  \
        return CUBLAS_STATUS_SUCCESS;                                                                                \
    }                                                                                                                \
    EMU_INLINE cublasStatus_t cublas##letter##swap(cublasHandle_t handle, int n, T* x, int step_x, T* y,             \
                                                   int step_y) {                                                     \
        if (n > 0) emu::move<T>("cublas" #letter "swap", handle->stream, {x, step_x, n}, {y, step_y, n}, true);      \
        return CUBLAS_STATUS_SUCCESS;                                                                                \
    }                                                                                                                \
    EMU_INLINE cublasStatus_t cublas##letter##dot(cublasHandle_t handle, int n, const T* x, int step_x, const T* y,  \
                                                  int step_y, T* result) {                                           \
        *result = T(0);                                                                                              \
        if (n > 0) emu::dot<T>("cublas" #letter "dot", handle->stream, {x, step_x, n}, {y, step_y, n}, result);      \
        return CUBLAS_STATUS_SUCCESS;                                                                                \
    }                                                                                                                \
    EMU_SIZE(letter, nrm2, T, euclidean)                                                                             \
    EMU_SIZE(letter, asum, T, absolute)                                                                              \
    EMU_EXTREME(small, amax, T, true)                                                                                \
    EMU_EXTREME(small, amin, T, false)
#define EMU_SIZE(letter, name, T, kind)                                                                               \
    EMU_INLINE cublasStatus_t cublas##letter##name(cublasHandle_t handle, int n, const T* x, int step, T* result) {  \
        *result = T(0);                                                                                              \
        if (n > 0 && step > 0)                                                                                       \
            emu::size<T>("cublas" #letter #name, handle->stream, {x, step, n}, emu::Size::kind, result);             \
        return CUBLAS_STATUS_SUCCESS;                                                                                \
    }
#define EMU_EXTREME(small, name, T, largest)                                                                          \
    EMU_INLINE cublasStatus_t cublasI##small##name(cublasHandle_t handle, int n, const T* x, int step, int* result) { \
        *result = 0;                                                                                                 \
        if (n > 0 && step > 0)                                                                                       \
            emu::extreme<T>("cublasI" #small #name, handle->stream, {x, step, n}, largest, result);                  \
        return CUBLAS_STATUS_SUCCESS;                                                                                \
    }
EMU_LEVEL_1(S, s, float)
EMU_LEVEL_1(D, d, double)

namespace emu {

/// `columns` columns of `bytes` bytes each, which lie so many bytes apart at either end.
EMU_INLINE cublasStatus_t copied(void* to, int apart_to, const void* from, int apart_from, size_t bytes, int columns,
                                 cudaMemcpyKind kind, bool waits, cudaStream_t stream) {
    if (columns <= 0 || bytes == 0) return columns < 0 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
    size_t pitch_to = static_cast<size_t>(apart_to), pitch_from = static_cast<size_t>(apart_from);
    if (pitch_to < bytes || pitch_from < bytes) return CUBLAS_STATUS_INVALID_VALUE;
    size_t rows = static_cast<size_t>(columns);
    if (pitch_to == bytes && pitch_from == bytes) {  // without gaps, so all of it is one row
        bytes = pitch_to = pitch_from = bytes * rows;
        rows = 1;
    }
    const cudaError_t error = waits ? cudaMemcpy2D(to, pitch_to, from, pitch_from, bytes, rows, kind)
                                    : cudaMemcpy2DAsync(to, pitch_to, from, pitch_from, bytes, rows, kind, stream);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

}  // namespace emu

#define EMU_COPIES(name, kind)                                                                                        \
    EMU_INLINE cublasStatus_t cublas##name##Vector(int n, int bytes, const void* from, int step_from, void* to,      \
                                                   int step_to) {                                                    \
        return emu::copied(to, step_to * bytes, from, step_from * bytes, static_cast<size_t>(bytes), n, kind, true,  \
                           nullptr);                                                                                 \
    }                                                                                                                \
    EMU_INLINE cublasStatus_t cublas##name##VectorAsync(int n, int bytes, const void* from, int step_from, void* to, \
                                                        int step_to, cudaStream_t stream) {                          \
        return emu::copied(to, step_to * bytes, from, step_from * bytes, static_cast<size_t>(bytes), n, kind, false, \
                           stream);                                                                                  \
    }                                                                                                                \
    EMU_INLINE cublasStatus_t cublas##name##Matrix(int rows, int columns, int bytes, const void* from,               \
                                                   int leading_from, void* to, int leading_to) {                     \
        return emu::copied(to, leading_to * bytes, from, leading_from * bytes, static_cast<size_t>(rows * bytes),    \
                           columns, kind, true, nullptr);                                                            \
    }                                                                                                                \
    EMU_INLINE cublasStatus_t cublas##name##MatrixAsync(int rows, int columns, int bytes, const void* from,          \
                                                        int leading_from, void* to, int leading_to,                  \
                                                        cudaStream_t stream) {                                       \
        return emu::copied(to, leading_to * bytes, from, leading_from * bytes, static_cast<size_t>(rows * bytes),    \
                           columns, kind, false, stream);                                                            \
    }
EMU_COPIES(Set, cudaMemcpyHostToDevice)
EMU_COPIES(Get, cudaMemcpyDeviceToHost)

namespace emu {

/// Where a matrix lies: its elements' type, its leading dimension, and the elements from one of a batch to the next.
struct Placed {
    cudaDataType type;
    int leading;
    long long stride;
};

/// Products of float, half and bfloat16, summed in float; of double in double.
EMU_OUTLINE inline cublasStatus_t gemm_of_types(const char* name, cudaStream_t stream, cublasOperation_t op_a,
                                                cublasOperation_t op_b, Extents e, const void* alpha, const void* a,
                                                Placed in_a, const void* b, Placed in_b, const void* beta, void* c,
                                                Placed in_c, int batch, cublasComputeType_t compute,
                                                Epilogue epilogue = {}) {
    const void* const pc = EMU_PC;  // the caller's line, not the one below
    const auto product = [=](auto element, auto result, auto sum) {
        using Sum = decltype(sum);
        const bool half_scalars = compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC;
        const auto scalar = [=](const void* at) {
            return half_scalars ? Sum(float(*static_cast<const __half*>(at))) : *static_cast<const Sum*>(at);
        };
        return gemm<decltype(element), decltype(result), Sum>(
            name, stream, op_a, op_b, e, scalar(alpha), a, in_a.leading, in_a.stride, b, in_b.leading, in_b.stride,
            scalar(beta), c, in_c.leading, in_c.stride, batch, epilogue, pc);
    };
    const cudaDataType from = in_a.type, to = in_c.type;
    if (from != in_b.type) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (compute == CUBLAS_COMPUTE_64F) {
        const bool doubles = from == CUDA_R_64F && to == CUDA_R_64F;
        return doubles ? product(double(), double(), double()) : CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (from == CUDA_R_32F && to == CUDA_R_32F) return product(float(), float(), float());
    if (from == CUDA_R_16F && to == CUDA_R_16F) return product(__half(), __half(), float());
    if (from == CUDA_R_16F && to == CUDA_R_32F) return product(__half(), float(), float());
    if (from == CUDA_R_16BF && to == CUDA_R_16BF) return product(__nv_bfloat16(), __nv_bfloat16(), float());
    if (from == CUDA_R_16BF && to == CUDA_R_32F) return product(__nv_bfloat16(), float(), float());
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace emu

EMU_INLINE cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const void* alpha,
    const void* a, cudaDataType type_a, int lda, long long stride_a, const void* b, cudaDataType type_b, int ldb,
    long long stride_b, const void* beta, void* c, cudaDataType type_c, int ldc, long long stride_c, int batch,
    cublasComputeType_t compute, cublasGemmAlgo_t) {
    return emu::gemm_of_types("cublasGemmEx", handle->stream, op_a, op_b, {m, n, k}, alpha, a, {type_a, lda, stride_a},
                              b, {type_b, ldb, stride_b}, beta, c, {type_c, ldc, stride_c}, batch, compute);
}

EMU_INLINE cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                                   int k, const void* alpha, const void* a, cudaDataType type_a, int lda,
                                   const void* b, cudaDataType type_b, int ldb, const void* beta, void* c,
                                   cudaDataType type_c, int ldc, cublasComputeType_t compute,
                                   cublasGemmAlgo_t algorithm) {
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta,
                                      c, type_c, ldc, 0, 1, compute, algorithm);
}
