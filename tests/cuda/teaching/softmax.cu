// Softmax over rows in five ways, from one thread a row to online partials merged by cooperative groups.
#include <assert.h>
#include <cfloat>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "common.h"

namespace cg = cooperative_groups;

static void softmax_cpu(float* out, const float* inp, int N, int C) {
    for (int i = 0; i < N; i++) {
        const float* x = inp + (size_t)i * C;
        double largest = -INFINITY, sum = 0.0;
        for (int j = 0; j < C; j++) largest = fmax(largest, (double)x[j]);
        for (int j = 0; j < C; j++) sum += exp(x[j] - largest);
        for (int j = 0; j < C; j++) out[(size_t)i * C + j] = (float)(exp(x[j] - largest) / sum);
    }
}

__global__ void softmax_kernel1(float* out, const float* inp, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        const float* inp_row = inp + i * C;
        float* out_row = out + i * C;
        float maxval = -INFINITY;
        for (int j = 0; j < C; j++) {
            if (inp_row[j] > maxval) maxval = inp_row[j];
        }
        double sum = 0.0;
        for (int j = 0; j < C; j++) {
            out_row[j] = expf(inp_row[j] - maxval);
            sum += out_row[j];
        }
        for (int j = 0; j < C; j++) out_row[j] /= (float)sum;
    }
}

// a block for a row, reductions in shared memory
__global__ void softmax_kernel2(float* out, const float* inp, int N, int C) {
    extern __shared__ float shared[];
    int idx = blockIdx.x, tid = threadIdx.x, block_size = blockDim.x;
    const float* x = inp + idx * C;
    float maxval = -FLT_MAX;
    for (int i = tid; i < C; i += block_size) maxval = fmaxf(maxval, x[i]);
    shared[tid] = maxval;
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (tid < stride) shared[tid] = fmaxf(shared[tid], shared[tid + stride]);
    }
    __syncthreads();
    float offset = shared[0];
    __syncthreads();
    float sumval = 0.0f;
    for (int i = tid; i < C; i += block_size) sumval += __expf(x[i] - offset);
    shared[tid] = sumval;
    for (int stride = block_size >> 1; stride; stride >>= 1) {
        __syncthreads();
        if (tid < stride) shared[tid] += shared[tid + stride];
    }
    __syncthreads();
    const float norm = __frcp_rn(shared[0]);
    for (int i = tid; i < C; i += block_size) __stcs(&out[idx * C + i], expf(__ldcs(x + i) - offset) * norm);
}

__device__ __forceinline__ float warpReduceMax(float val) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) val = fmaxf(val, __shfl_down_sync(0xFFFFFFFF, val, offset));
    return __shfl_sync(0xFFFFFFFF, val, 0);
}
__device__ __forceinline__ float warpReduceSum(float val) {
    for (int offset = warpSize / 2; offset > 0; offset >>= 1) val += __shfl_xor_sync(0xFFFFFFFFu, val, offset, warpSize);
    return val;
}

// a block for a row, reductions by shuffles and one word of shared memory a warp
template <int BlockSize>
__global__ void __launch_bounds__(BlockSize) softmax_kernel3(float* __restrict__ out, const float* __restrict__ inp, int C) {
    static_assert(BlockSize % 32 == 0, "whole warps");
    __shared__ float maxvals[BlockSize / 32], sumvals[BlockSize / 32];
    const int warp = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    const float* x = inp + (size_t)blockIdx.x * C;
    float maxval = -INFINITY;
    for (int i = threadIdx.x; i < C; i += BlockSize) maxval = fmaxf(maxval, x[i]);
    maxval = warpReduceMax(maxval);
    if (lane == 0) maxvals[warp] = maxval;
    __syncthreads();
    maxval = warpReduceMax(lane < BlockSize / 32 ? maxvals[lane] : -INFINITY);
    float sumval = 0.f;
    for (int i = threadIdx.x; i < C; i += BlockSize) sumval += expf(x[i] - maxval);
    sumval = warpReduceSum(sumval);
    if (lane == 0) sumvals[warp] = sumval;
    __syncthreads();
    sumval = warpReduceSum(lane < BlockSize / 32 ? sumvals[lane] : 0.f);
    for (int i = threadIdx.x; i < C; i += BlockSize) out[(size_t)blockIdx.x * C + i] = __fdividef(expf(x[i] - maxval), sumval);
}

struct __align__(8) SumMax {
    float maxval;
    float sum;
};
__device__ __forceinline__ SumMax reduce_sum_max(SumMax a, SumMax b) {
    bool a_bigger = (a.maxval > b.maxval);
    SumMax bigger = a_bigger ? a : b;
    SumMax smaller = a_bigger ? b : a;
    bigger.sum += smaller.sum * expf(smaller.maxval - bigger.maxval);
    return bigger;
}

// a warp for a row, one pass to find both numbers
__global__ void softmax_kernel4(float* out, const float* inp, int N, int C) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (idx >= N) return;
    const float* x = inp + idx * C;
    SumMax sm_partial = {-INFINITY, 0.0f};
    for (int i = warp.thread_rank(); i < C; i += warp.size()) sm_partial = reduce_sum_max(sm_partial, {x[i], 1.0f});
    SumMax sm_total = cg::reduce(warp, sm_partial, reduce_sum_max);
    for (int i = warp.thread_rank(); i < C; i += warp.num_threads()) {
        __stcs(out + idx * C + i, expf(__ldcs(x + i) - sm_total.maxval) / sm_total.sum);
    }
}

// four numbers a load
__global__ void softmax_kernel5(float4* out, const float4* inp, int C4) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ float partial[32];
    const float4* x = inp + blockIdx.x * C4;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < C4; i += blockDim.x) {
        float4 v = __ldg(&x[i]);
        largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    largest = cg::reduce(warp, largest, cg::greater<float>{});
    if (warp.thread_rank() == 0) partial[warp.meta_group_rank()] = largest;
    block.sync();
    largest = cg::reduce(warp, warp.thread_rank() < warp.meta_group_size() ? partial[warp.thread_rank()] : -INFINITY, cg::greater<float>());
    cg::sync(block);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C4; i += blockDim.x) {
        float4 v = x[i];
        v = make_float4(expf(v.x - largest), expf(v.y - largest), expf(v.z - largest), expf(v.w - largest));
        sum += (v.x + v.y) + (v.z + v.w);
        out[blockIdx.x * C4 + i] = v;
    }
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    if (warp.thread_rank() == 0) partial[warp.meta_group_rank()] = sum;
    block.sync();
    sum = cg::reduce(warp, warp.thread_rank() < warp.meta_group_size() ? partial[warp.thread_rank()] : 0.0f, cg::plus<float>{});
    for (int i = threadIdx.x; i < C4; i += blockDim.x) {
        float4& v = out[blockIdx.x * C4 + i];
        v.x /= sum; v.y /= sum; v.z /= sum; v.w /= sum;
    }
}

void softmax_forward(int kernel_num, float* out, const float* inp, int N, int C, const int block_size) {
    switch (kernel_num) {
        case 1: softmax_kernel1<<<ceil_div(N, block_size), block_size>>>(out, inp, N, C); break;
        case 2: softmax_kernel2<<<N, block_size, block_size * sizeof(float)>>>(out, inp, N, C); break;
        case 3: softmax_kernel3<128><<<N, 128>>>(out, inp, C); break;
        case 4: softmax_kernel4<<<ceil_div(N * 32, block_size), block_size>>>(out, inp, N, C); break;
        case 5: softmax_kernel5<<<N, block_size>>>(reinterpret_cast<float4*>(out), (const float4*)inp, C / 4); break;
        default: printf("Invalid kernel number\n"); exit(1);
    }
    cudaCheck(cudaGetLastError());
}

int main(int argc, char** argv) {
    const int N = 5, C = 508;
    std::vector<float> inp = random_floats(N * C, 1, 8.0f), expected(N * C);
    softmax_cpu(expected.data(), inp.data(), N, C);
    Buffer<float> d_inp(inp), d_out(N * C);
    for (int kernel_num = 1; kernel_num <= 5; kernel_num++) {
        for (int block_size : {32, 128, 256}) {
            cudaCheck(cudaMemset(d_out.device, 0, N * C * sizeof(float)));
            softmax_forward(kernel_num, d_out.device, d_inp.device, N, C, block_size);
            validate("softmax", d_out.host(), expected, 1e-5f);
        }
    }
    return failures;
}
