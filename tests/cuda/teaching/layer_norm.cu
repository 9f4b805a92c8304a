// Layer norm forward and backward in a number type chosen at compile time, eight of them to a 16-byte pack.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>
#include "common.h"

namespace cg = cooperative_groups;

template <class T>
struct alignas(16) Packed128 {
    Packed128() = default;
    __device__ explicit Packed128(int4 bits) {
        static_assert(sizeof(bits) == sizeof(payload), "Size mismatch.");
        memcpy(&payload, &bits, sizeof(bits));
    }
    __device__ T& operator[](int index) { return payload[index]; }
    __device__ const T& operator[](int index) const { return payload[index]; }
    __device__ int4 get_bits() const {
        int4 bits;
        memcpy(&bits, &payload, sizeof(bits));
        return bits;
    }
    __device__ static Packed128 constant(T value) {
        Packed128 result;
        for (int k = 0; k < size; ++k) result.payload[k] = value;
        return result;
    }
    static constexpr const size_t size = sizeof(int4) / sizeof(T);
    T payload[size];
};
template <class T>
__device__ Packed128<T> load128(const T* address) {
    return Packed128<T>{*reinterpret_cast<const int4*>(address)};
}
template <class T>
__device__ Packed128<T> load128cs(const T* address) {
    return Packed128<T>{__ldcs(reinterpret_cast<const int4*>(address))};
}
template <class T>
__device__ void store128(T* target, Packed128<T> value) {
    *reinterpret_cast<int4*>(target) = value.get_bits();
}
template <class T>
__device__ void store128cs(T* target, Packed128<T> value) {
    __stcs(reinterpret_cast<int4*>(target), value.get_bits());
}

template <class floatX>
__global__ void layernorm_forward(floatX* __restrict__ out, float* __restrict__ mean, float* __restrict__ rstd,
                                  const floatX* __restrict__ inp, const floatX* __restrict__ weight,
                                  const floatX* __restrict__ bias, int N, int C) {
    using x128 = Packed128<floatX>;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (idx >= N) return;
    const floatX* x = inp + idx * C;
    float sum = 0.0f;
    for (int c = warp.thread_rank() * x128::size; c < C; c += warp.size() * x128::size) {
        const x128 packed = load128cs(x + c);
        for (int k = 0; k < x128::size; k++) sum += (float)packed[k];
    }
    const float m = cg::reduce(warp, sum, cg::plus<float>{}) / C;
    if (warp.thread_rank() == 0 && mean != nullptr) __stcs(mean + idx, m);
    sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) {
        float diff = (float)x[i] - m;
        sum += diff * diff;
    }
    const float s = rsqrtf(cg::reduce(warp, sum, cg::plus<float>{}) / C + 1e-5f);
    if (warp.thread_rank() == 0 && rstd != nullptr) __stcs(rstd + idx, s);
    for (int c = warp.thread_rank() * x128::size; c < C; c += warp.size() * x128::size) {
        const x128 in = load128cs(x + c), w = load128(weight + c), b = load128(bias + c);
        x128 o;
        #pragma unroll
        for (int k = 0; k < x128::size; ++k) {
            float n = s * ((float)in[k] - m);
            o[k] = (floatX)(n * (float)w[k] + (float)b[k]);
        }
        store128cs(out + idx * C + c, o);
    }
}

// bias and weight gradients gathered in shared memory, then added to global memory
template <class floatX>
__global__ void layernorm_backward(floatX* dinp, float* dweight, float* dbias, const floatX* dout, const floatX* inp,
                                   const floatX* weight, const float* mean, const float* rstd, int N, int C) {
    extern __shared__ float shared[];
    float* dbias_shared = shared;
    float* dweight_shared = shared + C;
    #pragma unroll 4
    for (int i = threadIdx.x; i < C; i += blockDim.x) dbias_shared[i] = dweight_shared[i] = 0.0f;
    __syncthreads();
    const int warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x % 32;
    for (int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < N; row += warps) {
        const float m = mean[row], s = rstd[row];
        float dnorm_mean = 0.0f, dnorm_norm_mean = 0.0f;
        for (int i = lane; i < C; i += 32) {
            float norm = ((float)inp[row * C + i] - m) * s;
            float dnorm = (float)weight[i] * (float)dout[row * C + i];
            dnorm_mean += dnorm;
            dnorm_norm_mean += dnorm * norm;
        }
        for (int offset = 16; offset > 0; offset >>= 1) {
            dnorm_mean += __shfl_xor_sync(0xffffffff, dnorm_mean, offset);
            dnorm_norm_mean += __shfl_xor_sync(0xffffffff, dnorm_norm_mean, offset);
        }
        dnorm_mean /= C, dnorm_norm_mean /= C;
        for (int i = lane; i < C; i += 32) {
            const float d = (float)__ldcs(&dout[row * C + i]);
            float norm = ((float)inp[row * C + i] - m) * s;
            atomicAdd(&dbias_shared[i], d);
            atomicAdd(&dweight_shared[i], norm * d);
            dinp[row * C + i] = (floatX)(((float)weight[i] * d - dnorm_mean - norm * dnorm_norm_mean) * s);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        atomicAdd(&dbias[i], dbias_shared[i]);
        atomicAdd(&dweight[i], dweight_shared[i]);
    }
}

template <class floatX>
void test(const char* name, float tolerance) {
    const int N = 7, C = 256;
    auto typed = [](const std::vector<float>& values) {
        std::vector<floatX> result;
        for (float value : values) result.push_back((floatX)value);
        return result;
    };
    auto inp = typed(random_floats(N * C, 2, 3.0f)), weight = typed(random_floats(C, 3)), bias = typed(random_floats(C, 4));
    auto dout = typed(random_floats(N * C, 5));
    std::vector<float> out(N * C), dinp(N * C), dweight(C, 0.0f), dbias(C, 0.0f);
    for (int row = 0; row < N; row++) {
        double m = 0, v = 0, a = 0, b = 0;
        for (int i = 0; i < C; i++) m += (double)(float)inp[row * C + i] / C;
        for (int i = 0; i < C; i++) v += ((float)inp[row * C + i] - m) * ((float)inp[row * C + i] - m) / C;
        const double s = 1.0 / sqrt(v + 1e-5);
        auto norm = [&](int i) { return ((float)inp[row * C + i] - m) * s; };
        auto dnorm = [&](int i) { return (double)(float)weight[i] * (float)dout[row * C + i]; };
        for (int i = 0; i < C; i++) a += dnorm(i) / C, b += dnorm(i) * norm(i) / C;
        for (int i = 0; i < C; i++) {
            out[row * C + i] = (float)(norm(i) * (float)weight[i] + (float)bias[i]);
            dinp[row * C + i] = (float)((dnorm(i) - a - norm(i) * b) * s);
            dbias[i] += (float)dout[row * C + i];
            dweight[i] += (float)(norm(i) * (float)dout[row * C + i]);
        }
    }
    Buffer<floatX> d_inp(inp), d_weight(weight), d_bias(bias), d_dout(dout), d_out(N * C), d_dinp(N * C);
    Buffer<float> d_mean(N), d_rstd(N), d_dweight(C), d_dbias(C);
    cudaCheck(cudaMemset(d_dweight.device, 0, C * sizeof(float)));
    cudaCheck(cudaMemset(d_dbias.device, 0, C * sizeof(float)));
    layernorm_forward<floatX><<<ceil_div(N * 32, 64), 64>>>(d_out.device, d_mean.device, d_rstd.device, d_inp.device, d_weight.device, d_bias.device, N, C);
    cudaCheck(cudaGetLastError());
    layernorm_backward<<<2, 64, 2 * C * sizeof(float)>>>(d_dinp.device, d_dweight.device, d_dbias.device, d_dout.device, d_inp.device, d_weight.device, d_mean.device, d_rstd.device, N, C);
    cudaCheck(cudaGetLastError());
    validate(name, d_out.host(), out, tolerance);
    validate(name, d_dinp.host(), dinp, tolerance);
    validate(name, d_dweight.host(), dweight, 1e-4f);
    validate(name, d_dbias.host(), dbias, 1e-4f);
}

int main() {
    test<float>("float", 1e-5f);
    test<half>("half", 2e-3f);          // 2^-10 at magnitudes up to 2
    test<__nv_bfloat16>("bf16", 1.6e-2f);  // 2^-7
    return failures;
}
