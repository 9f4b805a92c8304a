// Matrix products: naive, tiled, four rows a thread in registers with float4, and half pairs fused.
#include <cuda_fp16.h>
#include "common.h"

#define TILE 16

__global__ void matmul_naive(float* out, const float* inp, const float* weight, const float* bias, int BT, int C, int OC) {
    int bt = blockIdx.x * blockDim.x + threadIdx.x;
    int oc = blockIdx.y * blockDim.y + threadIdx.y;
    if (bt < BT && oc < OC) {
        float val = (bias != NULL) ? bias[oc] : 0.0f;
        const float *wrow = weight + oc * C, *inp_bt = inp + bt * C;
        for (int i = 0; i < C; i++) val += inp_bt[i] * wrow[i];
        out[bt * OC + oc] = val;
    }
}

__global__ void matmul_tiled(float* out, const float* inp, const float* weight, const float* bias, int BT, int C, int OC) {
    __shared__ float a[TILE][TILE], b[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < C; k += TILE) {
        a[threadIdx.y][threadIdx.x] = row < BT && k + threadIdx.x < C ? inp[row * C + k + threadIdx.x] : 0.f;
        b[threadIdx.y][threadIdx.x] = blockIdx.x * TILE + threadIdx.y < OC && k + threadIdx.x < C
            ? weight[(blockIdx.x * TILE + threadIdx.y) * C + k + threadIdx.x] : 0.f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i) sum += a[threadIdx.y][i] * b[threadIdx.x][i];
        __syncthreads();
    }
    if (row < BT && col < OC) out[row * OC + col] = sum + bias[col];
}

__device__ float4 ld_vec(const float* address) { return *reinterpret_cast<const float4*>(address); }
__device__ void st_vec(float* address, float4 val) { *reinterpret_cast<float4*>(address) = val; }

// a block computes 64 x 64, a thread 4 x 4
__global__ void __launch_bounds__(16 * 16, 2) matmul_registers(float* __restrict__ out, const float* __restrict__ inp,
        const float* __restrict__ weight, const float* __restrict__ bias, int C, int OC) {
    const int oc = 4 * (blockIdx.y * blockDim.y + threadIdx.y);
    __shared__ float lhs_s[64][16];
    __shared__ float rhs_s[64][16];
    inp += 64 * blockIdx.x * C;
    weight += 64 * blockIdx.y * C;
    out += 64 * blockIdx.x * OC + 64 * blockIdx.y;
    float vals[4][4] = {};
    if (bias != NULL) {
        for (int i = 0; i < 4; i++) {
            float4 b = ld_vec(bias + oc);
            vals[i][0] = b.x; vals[i][1] = b.y; vals[i][2] = b.z; vals[i][3] = b.w;
        }
    }
    const int linear = threadIdx.x + threadIdx.y * blockDim.x, y = linear / 4, x4 = 4 * (linear % 4);
    for (int so = 0; so < C; so += 16) {
        __syncthreads();
        st_vec(&lhs_s[y][x4], ld_vec(inp + y * C + so + x4));
        st_vec(&rhs_s[y][x4], ld_vec(weight + y * C + so + x4));
        __syncthreads();
        for (int si = 0; si < 16; si += 4) {
            float4 rhs[4];
            for (int u = 0; u < 4; ++u) rhs[u] = ld_vec(&rhs_s[u + 4 * threadIdx.y][si]);
            for (int ii = 0; ii < 4; ++ii) {
                float4 lhs = ld_vec(&lhs_s[ii + 4 * threadIdx.x][si]);
                for (int ji = 0; ji < 4; ++ji) {
                    vals[ii][ji] += lhs.x * rhs[ji].x;
                    vals[ii][ji] += lhs.y * rhs[ji].y;
                    vals[ii][ji] += lhs.z * rhs[ji].z;
                    vals[ii][ji] += lhs.w * rhs[ji].w;
                }
            }
        }
    }
    for (int i = 0; i < 4; ++i) {
        float4 result;
        result.x = vals[i][0]; result.y = vals[i][1]; result.z = vals[i][2]; result.w = vals[i][3];
        st_vec(out + (4 * threadIdx.x + i) * OC + 4 * threadIdx.y, result);
    }
}

// rows by a vector: pairs of halves, summed in pairs and then by shuffles
__global__ void gemv_half2(half* out, const half2* matrix, const half2* vector, int pairs) {
    half2 sum = __float2half2_rn(0.0f);
    for (int i = threadIdx.x; i < pairs; i += warpSize) sum = __hfma2(matrix[blockIdx.x * pairs + i], vector[i], sum);
    for (int offset = 16; offset > 0; offset >>= 1) sum = __hadd2(sum, __shfl_down_sync(0xffffffff, sum, offset));
    if (threadIdx.x == 0) out[blockIdx.x] = __hadd(__low2half(sum), __high2half(sum));
}

int main() {
    const int BT = 64, C = 48, OC = 128;
    auto inp = random_floats(BT * C, 15), weight = random_floats(OC * C, 16), bias = random_floats(OC, 17);
    std::vector<float> expected(BT * OC);
    for (int i = 0; i < BT * OC; i++) {
        double sum = bias[i % OC];
        for (int c = 0; c < C; c++) sum += (double)inp[i / OC * C + c] * weight[i % OC * C + c];
        expected[i] = (float)sum;
    }
    Buffer<float> d_inp(inp), d_weight(weight), d_bias(bias), d_out(BT * OC);
    matmul_naive<<<dim3(ceil_div(BT, 8), ceil_div(OC, 8)), dim3(8, 8)>>>(d_out.device, d_inp.device, d_weight.device, d_bias.device, BT, C, OC);
    validate("naive", d_out.host(), expected, 1e-5f);
    dim3 block(TILE, TILE), grid(ceil_div(OC, TILE), ceil_div(BT, TILE));
    matmul_tiled<<<grid, block>>>(d_out.device, d_inp.device, d_weight.device, d_bias.device, BT, C, OC);
    validate("tiled", d_out.host(), expected, 1e-5f);
    matmul_registers<<<dim3(BT / 64, OC / 64), dim3(16, 16)>>>(d_out.device, d_inp.device, d_weight.device, d_bias.device, C, OC);
    cudaCheck(cudaGetLastError());
    validate("registers", d_out.host(), expected, 1e-5f);

    std::vector<half> matrix, vector;
    for (float value : inp) matrix.push_back(__float2half(value));
    for (float value : random_floats(C, 18)) vector.push_back(__float2half(value));
    std::vector<float> product(BT, 0.0f);
    for (int i = 0; i < BT * C; i++) product[i / C] += __half2float(matrix[i]) * __half2float(vector[i % C]);
    Buffer<half> d_matrix(matrix), d_vector(vector), d_product(BT);
    gemv_half2<<<BT, 32>>>(d_product.device, reinterpret_cast<const half2*>(d_matrix.device), (half2*)d_vector.device, C / 2);
    validate("half2", d_product.host(), product, 1e-2f);
    return failures;
}
