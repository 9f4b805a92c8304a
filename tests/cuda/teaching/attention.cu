// Causal attention: a query a thread over key tiles in shared memory, and in parts: permute, product, softmax, product.
#include <cublas_v2.h>
#include <float.h>
#include "common.h"

static cublasHandle_t cublas_handle;
#define cublasCheck(status) { if ((status) != CUBLAS_STATUS_SUCCESS) { printf("[cuBLAS] %d line %d\n", (int)(status), __LINE__); exit(1); } }

static void attention_cpu(std::vector<float>& out, const std::vector<float>& qkv, int B, int T, int C, int NH) {
    const int hs = C / NH;
    for (int b = 0; b < B; b++) for (int h = 0; h < NH; h++) for (int t = 0; t < T; t++) {
        const float* q = &qkv[(size_t)(b * T + t) * 3 * C + h * hs];
        std::vector<double> att(t + 1);
        double largest = -1e30, sum = 0;
        for (int u = 0; u <= t; u++) {
            const float* k = &qkv[(size_t)(b * T + u) * 3 * C + C + h * hs];
            for (int i = 0; i < hs; i++) att[u] += (double)q[i] * k[i] / sqrt((double)hs);
            largest = fmax(largest, att[u]);
        }
        for (double& a : att) sum += a = exp(a - largest);
        for (int i = 0; i < hs; i++) {
            double value = 0;
            for (int u = 0; u <= t; u++) value += att[u] / sum * qkv[(size_t)(b * T + u) * 3 * C + 2 * C + h * hs + i];
            out[(size_t)(b * T + t) * C + h * hs + i] = (float)value;
        }
    }
}

// one block a head, Bc = Br rows of a tile a time, the running maximum and sum in registers
template <int Bc, int Hs>
__global__ void flash_kernel(const float* __restrict__ qkv, float* __restrict__ out, int T, int C, float scale) {
    const int tx = threadIdx.x, h = blockIdx.y, b = blockIdx.x;
    extern __shared__ float sram[];
    float (*Ks)[Hs + 1] = reinterpret_cast<float (*)[Hs + 1]>(sram);
    float (*Vs)[Hs + 1] = reinterpret_cast<float (*)[Hs + 1]>(&sram[Bc * (Hs + 1)]);
    auto at = [=] __device__ (int t, int part, int i) { return ((size_t)b * T + t) * 3 * C + part * C + h * Hs + i; };
    for (int q0 = 0; q0 < T; q0 += Bc) {
        const int t = q0 + tx;
        float q[Hs], acc[Hs], row_m = -INFINITY, row_l = 0.0f;
        for (int i = 0; i < Hs; i++) {
            q[i] = t < T ? qkv[at(t, 0, i)] : 0.0f;
            acc[i] = 0.0f;
        }
        for (int k0 = 0; k0 <= q0; k0 += Bc) {
            __syncthreads();
            for (int i = 0; i < Hs; i++) {
                Ks[tx][i] = k0 + tx < T ? qkv[at(k0 + tx, 1, i)] : 0.0f;
                Vs[tx][i] = k0 + tx < T ? qkv[at(k0 + tx, 2, i)] : 0.0f;
            }
            __syncthreads();
            for (int y = 0; y < Bc && k0 + y <= t && t < T; y++) {
                float s = 0.0f;
                #pragma unroll
                for (int i = 0; i < Hs; i++) s = __fmaf_rn(q[i], Ks[y][i], s);
                s *= scale;
                const float m_new = max(row_m, s), rescale = __expf(row_m - m_new), p = __expf(s - m_new);
                row_l = row_l * rescale + p;
                row_m = m_new;
                for (int i = 0; i < Hs; i++) acc[i] = acc[i] * rescale + p * Vs[y][i];
            }
        }
        if (t < T) {
            for (int i = 0; i < Hs; i++) out[((size_t)b * T + t) * C + h * Hs + i] = acc[i] / row_l;
        }
    }
}

__global__ void permute_kernel(float* q, float* k, float* v, const float* inp, int B, int N, int NH, int d) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < B * NH * N * d) {
        int b = idx / (NH * N * d), rest = idx % (NH * N * d);
        int nh_ = rest / (N * d);
        rest = rest % (N * d);
        int n = rest / d, d_ = rest % d;
        int inp_idx = (b * N * 3 * NH * d) + (n * 3 * NH * d) + (0 * NH * d) + (nh_ * d) + d_;
        q[idx] = __ldcs(&inp[inp_idx]);
        k[idx] = __ldcs(&inp[inp_idx + NH * d]);
        v[idx] = __ldcs(&inp[inp_idx + 2 * (NH * d)]);
    }
}

__global__ void softmax_autoregressive(float* att, float scale, int T) {
    const int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), own = row % T;
    float* x = att + (size_t)row * T;
    float maxval = -FLT_MAX, sumval = 0.0f;
    for (int i = lane; i <= own; i += 32) {
        float old = maxval;
        maxval = fmaxf(maxval, x[i]);
        sumval = sumval * expf(scale * (old - maxval)) + expf(scale * (x[i] - maxval));
    }
    float all = maxval;
    for (int o = 16; o; o >>= 1) all = fmaxf(all, __shfl_xor_sync(~0u, all, o));
    sumval *= expf(scale * (maxval - all));
    for (int o = 16; o; o >>= 1) sumval += __shfl_xor_sync(~0u, sumval, o);
    float norm = 1.f / sumval;
    for (int i = lane; i < T; i += 32) x[i] = i <= own ? expf(scale * (__ldcs(x + i) - all)) * norm : 0.0f;
}

__global__ void unpermute_kernel(float* out, const float* inp, int B, int N, int NH, int d) {
    const dim3 grid = gridDim;
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < B * NH * N * d; idx += grid.x * blockDim.x) {
        int b = idx / (NH * N * d), nh_ = idx / (N * d) % NH, n = idx / d % N, d_ = idx % d;
        out[(b * NH * N * d) + (n * NH * d) + (nh_ * d) + d_] = inp[idx];
    }
}

int main() {
    const int B = 2, T = 40, C = 32, NH = 2, HS = C / NH;
    std::vector<float> qkv = random_floats(B * T * 3 * C, 6), expected(B * T * C);
    attention_cpu(expected, qkv, B, T, C, NH);
    Buffer<float> d_qkv(qkv), d_out(B * T * C), q(B * T * C), k(B * T * C), v(B * T * C), att(B * NH * T * T), vacc(B * T * C);
    const int Bc = 32;
    dim3 grid(B, NH);
    flash_kernel<Bc, 16><<<grid, Bc, 2 * Bc * (HS + 1) * sizeof(float)>>>(d_qkv.device, d_out.device, T, C, 1.0f / sqrtf(HS));
    cudaCheck(cudaGetLastError());
    validate("flash", d_out.host(), expected, 1e-5f);

    cublasCheck(cublasCreate(&cublas_handle));
    cublasCheck(cublasSetMathMode(cublas_handle, CUBLAS_DEFAULT_MATH));
    permute_kernel<<<ceil_div(B * T * C, 64), 64>>>(q.device, k.device, v.device, d_qkv.device, B, T, NH, HS);
    const float alpha = 1.0f, beta = 0.0f;
    cublasCheck(cublasSgemmStridedBatched(cublas_handle, CUBLAS_OP_T, CUBLAS_OP_N, T, T, HS, &alpha, k.device, HS, T * HS,
                                          q.device, HS, T * HS, &beta, att.device, T, T * T, B * NH));
    softmax_autoregressive<<<B * NH * T / 2, 64>>>(att.device, 1.0f / sqrtf(HS), T);
    cublasCheck(cublasSgemmStridedBatched(cublas_handle, CUBLAS_OP_N, CUBLAS_OP_N, HS, T, T, &alpha, v.device, HS, T * HS,
                                          att.device, T, T * T, &beta, vacc.device, HS, T * HS, B * NH));
    unpermute_kernel<<<3, 64>>>(d_out.device, vacc.device, B, T, NH, HS);
    cudaCheck(cudaGetLastError());
    validate("in parts", d_out.host(), expected, 1e-5f);
    cublasCheck(cublasDestroy(cublas_handle));
    return failures;
}
