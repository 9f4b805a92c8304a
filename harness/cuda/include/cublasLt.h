// The part of cuBLASLt that kernels are compared with: products of column-major matrices with a bias and an activation.
#pragma once

#include <cstdint>
#include <cstring>

#include "cublas_v2.h"

typedef struct cublasLtContext* cublasLtHandle_t;
typedef enum {
    CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
    CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
    CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
    CUBLASLT_MATMUL_DESC_TRANSA = 3,
    CUBLASLT_MATMUL_DESC_TRANSB = 4,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
    CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
    CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,
    CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26
} cublasLtMatmulDescAttributes_t;
typedef enum {
    CUBLASLT_MATRIX_LAYOUT_TYPE = 0,
    CUBLASLT_MATRIX_LAYOUT_ORDER = 1,
    CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
    CUBLASLT_MATRIX_LAYOUT_COLS = 3,
    CUBLASLT_MATRIX_LAYOUT_LD = 4,
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6
} cublasLtMatrixLayoutAttribute_t;
typedef enum {
    CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1
} cublasLtMatmulPreferenceAttributes_t;
typedef enum {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_RELU = 2,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_RELU_BIAS = 6,
    CUBLASLT_EPILOGUE_GELU = 32,
    CUBLASLT_EPILOGUE_GELU_BIAS = 36,
    CUBLASLT_EPILOGUE_GELU_AUX = 160,
    CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164,
    CUBLASLT_EPILOGUE_DGELU = 192,
    CUBLASLT_EPILOGUE_DGELU_BGRAD = 208,
    CUBLASLT_EPILOGUE_BGRADA = 256,
    CUBLASLT_EPILOGUE_BGRADB = 512
} cublasLtEpilogue_t;

struct cublasLtMatmulDescOpaque_t {
    cublasComputeType_t compute;
    cudaDataType scale;
    cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void* bias = nullptr;
    int bias_type = -1;
};
struct cublasLtMatrixLayoutOpaque_t {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t leading;
    int32_t batch = 1;
    int64_t stride = 0;
};
struct cublasLtMatmulPreferenceOpaque_t {};
typedef cublasLtMatmulDescOpaque_t* cublasLtMatmulDesc_t;
typedef cublasLtMatrixLayoutOpaque_t* cublasLtMatrixLayout_t;
typedef cublasLtMatmulPreferenceOpaque_t* cublasLtMatmulPreference_t;
typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;

struct cublasLtContext {};
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = new cublasLtContext;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute,
                                               cudaDataType scale) {
    *description = new cublasLtMatmulDescOpaque_t{compute, scale};
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
    delete description;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                                 uint64_t columns, int64_t leading) {
    *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, leading};
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    *preference = new cublasLtMatmulPreferenceOpaque_t;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                           cublasLtMatmulPreferenceAttributes_t, const void*, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}

namespace emu {

template <class T>
cublasStatus_t set(T& field, const void* value, size_t bytes) {
    if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace emu

inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                                     cublasLtMatmulDescAttributes_t attribute, const void* value,
                                                     size_t bytes) {
    switch (attribute) {
        case CUBLASLT_MATMUL_DESC_TRANSA: return emu::set(description->op_a, value, bytes);
        case CUBLASLT_MATMUL_DESC_TRANSB: return emu::set(description->op_b, value, bytes);
        case CUBLASLT_MATMUL_DESC_EPILOGUE: return emu::set(description->epilogue, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return emu::set(description->bias, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return emu::set(description->bias_type, value, bytes);
        case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return emu::set(description->scale, value, bytes);
        default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                       size_t bytes) {
    switch (attribute) {
        case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return emu::set(layout->batch, value, bytes);
        case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return emu::set(layout->stride, value, bytes);
        case CUBLASLT_MATRIX_LAYOUT_LD: return emu::set(layout->leading, value, bytes);
        default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

namespace emu {

/// What the device does with an epilogue; false when it has no such.
inline bool known(const cublasLtMatmulDescOpaque_t& description, cudaDataType result, Epilogue* epilogue) {
    const int asked = description.epilogue;
    const bool plain = asked == CUBLASLT_EPILOGUE_DEFAULT;
    const int rest = asked & ~CUBLASLT_EPILOGUE_BIAS;
    if (!plain && rest != 0 && rest != CUBLASLT_EPILOGUE_RELU && rest != CUBLASLT_EPILOGUE_GELU) return false;
    if (!plain && (asked & CUBLASLT_EPILOGUE_BIAS)) epilogue->bias = description.bias;
    if (epilogue->bias && description.bias_type >= 0 && description.bias_type != static_cast<int>(result)) return false;
    if (rest == CUBLASLT_EPILOGUE_RELU) epilogue->activation = Activation::relu;
    if (rest == CUBLASLT_EPILOGUE_GELU) epilogue->activation = Activation::gelu;
    return true;
}

inline Placed placed(cublasLtMatrixLayout_t layout) {
    return {layout->type, static_cast<int>(layout->leading), static_cast<long long>(layout->stride)};
}

}  // namespace emu

/// One algorithm for whatever is asked.
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int asked,
                                                     cublasLtMatmulHeuristicResult_t* results, int* found) {
    *found = asked > 0 ? 1 : 0;
    if (asked > 0) results[0] = cublasLtMatmulHeuristicResult_t{};
    return CUBLAS_STATUS_SUCCESS;
}

/// d = epilogue(alpha * a * b + beta * c); c must be d where beta is not 0.
EMU_INLINE cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                                         const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                                         cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                                         cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                                         const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
    const bool doubles = description->compute == CUBLAS_COMPUTE_64F;
    const cudaDataType scalars = doubles ? CUDA_R_64F : CUDA_R_32F;
    emu::Epilogue epilogue;
    if (description->scale != scalars || !emu::known(*description, d_layout->type, &epilogue)) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const bool adds = doubles ? *static_cast<const double*>(beta) != 0 : *static_cast<const float*>(beta) != 0;
    if (adds && c != d) return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool plain = description->op_a == CUBLAS_OP_N;
    const emu::Extents extents{static_cast<int>(d_layout->rows), static_cast<int>(d_layout->columns),
                               static_cast<int>(plain ? a_layout->columns : a_layout->rows)};
    return emu::gemm_of_types("cublasLtMatmul", stream, description->op_a, description->op_b, extents, alpha, a,
                              emu::placed(a_layout), b, emu::placed(b_layout), beta, d, emu::placed(d_layout),
                              d_layout->batch, description->compute, epilogue);
}
