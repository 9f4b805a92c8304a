// A linear layer by cuBLASLt: out = gelu(inp * weight^T + bias), all row-major, in float and in bfloat16.
#include <cublasLt.h>
#include <cuda_bf16.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LT_CHECK(call)                                                     \
    {                                                                      \
        cublasStatus_t status = (call);                                    \
        if (status != CUBLAS_STATUS_SUCCESS) {                             \
            printf("cuBLASLt status %d at line %d\n", status, __LINE__);   \
            exit(1);                                                       \
        }                                                                  \
    }

static float pseudo(unsigned i) { return (i * 2654435761u >> 8) / float(1 << 24) - 0.5f; }
static float gelu(float x) { return 0.5f * x * (1.f + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }

template <class T>
T* on_device(const std::vector<T>& values) {
    T* pointer = nullptr;
    cudaMalloc(&pointer, values.size() * sizeof(T));
    cudaMemcpy(pointer, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return pointer;
}

template <class T>
int linear(cublasLtHandle_t handle, cudaDataType type, cublasLtEpilogue_t epilogue, float unit) {
    const int rows = 19, in = 24, out = 40;
    std::vector<T> inp(rows * in), weight(out * in), bias(out), result(rows * out);
    for (size_t i = 0; i < inp.size(); i++) inp[i] = T(pseudo(i));
    for (size_t i = 0; i < weight.size(); i++) weight[i] = T(pseudo(7919 + i));
    for (size_t i = 0; i < bias.size(); i++) bias[i] = T(pseudo(104729 + i));
    T *d_inp = on_device(inp), *d_weight = on_device(weight), *d_bias = on_device(bias), *d_out = on_device(result);

    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t heuristic;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    LT_CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    LT_CHECK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)));
    LT_CHECK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
    LT_CHECK(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &d_bias, sizeof(d_bias)));
    LT_CHECK(cublasLtMatrixLayoutCreate(&a, type, in, out, in));
    LT_CHECK(cublasLtMatrixLayoutCreate(&b, type, in, rows, in));
    LT_CHECK(cublasLtMatrixLayoutCreate(&c, type, out, rows, out));
    LT_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    size_t workspace = 0;
    LT_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                  sizeof(workspace)));
    int found = 0;
    LT_CHECK(cublasLtMatmulAlgoGetHeuristic(handle, product, a, b, c, c, preference, 1, &heuristic, &found));
    if (found == 0) return 1;
    const float one = 1.f, zero = 0.f;
    LT_CHECK(cublasLtMatmul(handle, product, &one, d_weight, a, d_inp, b, &zero, d_out, c, d_out, c, &heuristic.algo,
                            nullptr, workspace, 0));
    cudaMemcpy(result.data(), d_out, result.size() * sizeof(T), cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < out; o++) {
            float sum = epilogue == CUBLASLT_EPILOGUE_GELU ? 0.f : float(bias[o]);
            for (int i = 0; i < in; i++) sum += float(inp[r * in + i]) * float(weight[o * in + i]);
            const float right = epilogue == CUBLASLT_EPILOGUE_BIAS ? sum : gelu(sum);
            // one rounding to T, and float sums of 25 terms below 0.25 in another order
            const float bound = unit * std::fabs(right) + 25 * 25 * 0.25f * 1.2e-7f;
            if (!(std::fabs(float(result[r * out + o]) - right) <= bound)) wrong++;
        }
    }
    LT_CHECK(cublasLtMatmulPreferenceDestroy(preference));
    for (cublasLtMatrixLayout_t layout : {a, b, c}) LT_CHECK(cublasLtMatrixLayoutDestroy(layout));
    LT_CHECK(cublasLtMatmulDescDestroy(product));
    for (T* pointer : {d_inp, d_weight, d_bias, d_out}) cudaFree(pointer);
    return wrong;
}

int main() {
    cublasLtHandle_t handle;
    LT_CHECK(cublasLtCreate(&handle));
    int wrong = 0;
    for (cublasLtEpilogue_t epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}) {
        wrong += linear<float>(handle, CUDA_R_32F, epilogue, 1.2e-7f);
        wrong += linear<__nv_bfloat16>(handle, CUDA_R_16BF, epilogue, 1.f / 256);
    }
    LT_CHECK(cublasLtDestroy(handle));
    printf("%d values are wrong\n", wrong);
    return wrong != 0;
}
