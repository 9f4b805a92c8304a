// The small kernels of a training step: GELU, residual sums, encoder, cross entropy, AdamW, norms, rounding at random.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include "common.h"

#define GELU_SCALING_FACTOR sqrtf(2.0f / M_PI)
#define WARP_SIZE 32U
typedef __nv_bfloat16 floatX;

__global__ void gelu_forward_kernel(floatX* out, const floatX* inp, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float xi = inp[i];
        float cube = 0.044715f * xi * xi * xi;
        out[i] = 0.5f * xi * (1.0f + tanhf(GELU_SCALING_FACTOR * (xi + cube)));
    }
}

__global__ void gelu_backward_kernel(float* dinp, const float* inp, const float* dout, const int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    float x = inp[i];
    float cube = 0.044715f * x * x * x;
    float tanh_arg = GELU_SCALING_FACTOR * (x + cube);
    float tanh_out = tanhf(tanh_arg), coshf_out = coshf(tanh_arg);
    float sech_out = 1.0f / (coshf_out * coshf_out);
    float local_grad = 0.5f * (1.0f + tanh_out) + x * 0.5f * sech_out * GELU_SCALING_FACTOR * (1.0f + 3.0f * 0.044715f * x * x);
    dinp[i] = local_grad * dout[i];
}

__device__ inline float4 add_float4(const float4& a, const float4& b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// token and position embeddings, four channels a thread
__global__ void encoder_forward_kernel(float4* out, const int* inp, const float4* wte, const float4* wpe, int B, int T, int C) {
    int C4 = C / 4;
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < B * T * C4) {
        int bt = idx / C4, b = bt / T, t = bt % T, c4 = idx % C4;
        out[b * T * C4 + t * C4 + c4] = add_float4(wte[inp[b * T + t] * C4 + c4], wpe[t * C4 + c4]);
    }
}
__global__ void encoder_backward_kernel(float* dwte, const float* dout, const int* inp, int N, int C) {
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < N * C; idx += blockDim.x * gridDim.x) {
        atomicAdd(dwte + inp[idx / C] * C + idx % C, dout[idx]);
    }
}

__device__ inline float lerp(float start, float end, float weight) {
    return fma(weight, end, fma(-weight, start, start));
}

__device__ __forceinline__ constexpr unsigned int Get2dNoiseUint(int indexX, int indexY, unsigned int seed) {
    unsigned int mangledBits = static_cast<unsigned int>(indexX + 198491317 * indexY);
    mangledBits *= 0xd2a80a3f;
    mangledBits += seed;
    mangledBits ^= (mangledBits >> 8);
    mangledBits += 0xa884f197;
    mangledBits ^= (mangledBits << 8);
    mangledBits *= 0x6C736F4B;
    return mangledBits ^ (mangledBits >> 8);
}
__device__ __forceinline__ void stochastic_rounding(float in, __nv_bfloat16* out, unsigned int seed) {
    unsigned int threshold = Get2dNoiseUint(threadIdx.x, blockIdx.x * blockDim.x + blockIdx.y, seed) & 0xFFFF;
    unsigned int float_bits = __float_as_uint(in), rounded_bits = float_bits & 0x0000FFFF;
    float_bits = (rounded_bits > threshold) ? (float_bits | 0xFFFF) : (float_bits & ~0xFFFF);
    *out = __float2bfloat16_rn(__uint_as_float(float_bits));
}

template <typename Tp, typename Tg>
__device__ void adamw_update(Tp* params, float* master, Tg* grads, float* m_memory, float* v_memory, size_t n, float lr,
                             float beta1, float beta2, float correction1, float correction2, float eps, float decay,
                             unsigned int seed) {
    size_t idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= n) { return; }
    float grad = (float)grads[idx], m = m_memory[idx], v = v_memory[idx];
    m = lerp(grad, m, beta1);
    m_memory[idx] = m;
    v = lerp(grad * grad, v, beta2);
    v_memory[idx] = v;
    m /= correction1;
    v /= correction2;
    float param = master[idx] - lr * (m / (sqrtf(v) + eps) + decay * master[idx]);
    stochastic_rounding(param, &params[idx], seed);
    master[idx] = param;
}
template <typename Tp, typename Tg>
__global__ void adamw_kernel(Tp* params, float* master, Tg* grads, float* m, float* v, size_t n, ptrdiff_t stride, float lr,
                             float beta1, float beta2, float c1, float c2, float eps, float decay, unsigned int seed) {
    adamw_update(params + blockIdx.y * stride, master + blockIdx.y * stride, grads + blockIdx.y * stride,
                 m + blockIdx.y * stride, v + blockIdx.y * stride, n, lr, beta1, beta2, c1, c2, eps, decay, seed);
}

using reduction_func_t = float (*)(float);
__device__ inline float warpReduceSum(float val) {
    for (unsigned offset = WARP_SIZE / 2; offset > 0; offset /= 2) val += __shfl_xor_sync(0xFFFFFFFF, val, offset);
    return val;
}
template <reduction_func_t warp_reduction>
__device__ inline float blockReduce(float val, bool final_sync = false, float out_of_bounds = 0.0f) {
    __shared__ float shared_val[WARP_SIZE];
    const int lane_id = threadIdx.x % WARP_SIZE, warp_id = threadIdx.x / WARP_SIZE, num_warps = blockDim.x / WARP_SIZE;
    float warp_val = warp_reduction(val);
    if (lane_id == 0) { shared_val[warp_id] = warp_val; }
    __syncthreads();
    warp_val = (lane_id < num_warps) ? shared_val[lane_id] : out_of_bounds;
    float block_val = warp_reduction(warp_val);
    if (final_sync) { __syncthreads(); }
    return block_val;
}
template <class T>
__global__ void norm_kernel(float* out, const T* data, size_t count) {
    float accumulator = 0.f;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
        accumulator += (float)data[i] * (float)data[i];
    }
    float block_sum = blockReduce<warpReduceSum>(accumulator);
    if (threadIdx.x == 0) atomicAdd(out, block_sum);
}

// loss and gradient of logits in one kernel, a block for a row
__global__ void __launch_bounds__(128, 4) crossentropy_kernel(float* losses, floatX* dlogits, const float* logits, const int* targets, int V, int P) {
    const float* x = logits + blockIdx.x * (int64_t)P;
    float thread_max = -INFINITY, thread_sum = 0.0f;
    for (int i = threadIdx.x; i < V; i += blockDim.x) {
        float v = x[i], old = thread_max;
        thread_max = fmaxf(thread_max, v);
        thread_sum = thread_sum * expf(old - thread_max) + expf(v - thread_max);
    }
    __shared__ float all[4];
    float largest = thread_max;
    for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_down_sync(0xffffffffu, largest, o));
    if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = largest;
    __syncthreads();
    largest = fmaxf(fmaxf(all[0], all[1]), fmaxf(all[2], all[3]));
    float sum = blockReduce<warpReduceSum>(thread_sum * expf(thread_max - largest), true);
    const int ix = targets[blockIdx.x];
    if (threadIdx.x == 0) losses[blockIdx.x] = -(x[ix] - largest - logf(sum));
    for (int i = threadIdx.x; i < V; i += blockDim.x) {
        float prob = expf(x[i] - largest) / sum, indicator = (i == ix) ? 1.0f : 0.0f;
        __stcs(dlogits + blockIdx.x * P + i, (floatX)(prob - indicator));
    }
}

int main() {
    const int N = 1000;
    auto x = random_floats(N, 7, 3.0f), dout = random_floats(N, 8);
    std::vector<floatX> x16(x.begin(), x.end());
    std::vector<float> y(N), dx(N);
    auto gelu = [](double v) { return 0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); };
    for (int i = 0; i < N; i++) {
        y[i] = (float)gelu((float)x16[i]);
        dx[i] = (float)(dout[i] * (gelu(x[i] + 1e-4) - gelu(x[i] - 1e-4)) / 2e-4);
    }
    Buffer<floatX> d_x16(x16), d_y(N);
    Buffer<float> d_x(x), d_dout(dout), d_dx(N);
    gelu_forward_kernel<<<ceil_div(N, 256), 256>>>(d_y.device, d_x16.device, N);
    gelu_backward_kernel<<<ceil_div(N, 256), 256>>>(d_dx.device, d_x.device, d_dout.device, N);
    validate("gelu", d_y.host(), y, 8e-3f);
    validate("gelu backward", d_dx.host(), dx, 1e-4f);

    const int B = 2, T = 8, C = 16, V = 10;
    std::vector<int> tokens(B * T);
    for (int i = 0; i < B * T; i++) tokens[i] = i * 7 % V;
    auto wte = random_floats(V * C, 9), wpe = random_floats(T * C, 10), dtok = random_floats(B * T * C, 11);
    std::vector<float> enc(B * T * C), dwte(V * C, 0.0f);
    for (int i = 0; i < B * T * C; i++) {
        enc[i] = wte[tokens[i / C] * C + i % C] + wpe[i / C % T * C + i % C];
        dwte[tokens[i / C] * C + i % C] += dtok[i];
    }
    Buffer<int> d_tokens(tokens);
    Buffer<float> d_wte(wte), d_wpe(wpe), d_enc(enc.size()), d_dtok(dtok), d_dwte(dwte.size());
    cudaCheck(cudaMemset(d_dwte.device, 0, dwte.size() * sizeof(float)));
    encoder_forward_kernel<<<1, 64>>>((float4*)d_enc.device, d_tokens.device, (const float4*)d_wte.device, (const float4*)d_wpe.device, B, T, C);
    encoder_backward_kernel<<<2, 32>>>(d_dwte.device, d_dtok.device, d_tokens.device, B * T, C);
    validate("encoder", d_enc.host(), enc, 1e-6f);
    validate("encoder backward", d_dwte.host(), dwte, 1e-5f);

    auto master = random_floats(N, 12), m = random_floats(N, 13, 0.1f), v = random_floats(N, 14, 0.1f);
    std::vector<float> updated(N);
    for (int i = 0; i < N; i++) {
        v[i] = fabsf(v[i]);
        double g = (float)x16[i], m1 = 0.9 * m[i] + 0.1 * g, v1 = 0.999 * v[i] + 0.001 * g * g;
        updated[i] = (float)(master[i] - 1e-2 * (m1 / 0.1 / (sqrt(v1 / 0.001) + 1e-8) + 0.01 * master[i]));
    }
    Buffer<float> d_master(master), d_m(m), d_v(v);
    adamw_kernel<<<dim3(ceil_div(N, 512), 1), 512, 0, 0>>>(d_y.device, d_master.device, d_x16.device, d_m.device, d_v.device, (size_t)N,
        0, 1e-2f, 0.9f, 0.999f, 0.1f, 0.001f, 1e-8f, 0.01f, 42u);
    validate("adamw", d_master.host(), updated, 1e-5f);
    validate("adamw rounded", d_y.host(), updated, 8e-3f);

    double square = 0;
    for (float value : x) square += (double)value * value;
    Buffer<float> d_square(std::vector<float>{0.0f});
    norm_kernel<<<3, 128>>>(d_square.device, d_x.device, (size_t)N);
    validate("norm", d_square.host(), {(float)square}, 1e-5f);

    std::vector<float> losses(2);
    const int rows = 2, vocab = 400, padded = 500;
    std::vector<int> targets = {3, 399};
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < vocab; i++) sum += exp(x[r * padded + i]);
        losses[r] = (float)(log(sum) - x[r * padded + targets[r]]);
    }
    Buffer<float> d_losses(2);
    Buffer<int> d_targets(targets);
    Buffer<floatX> d_dlogits(rows * padded);
    crossentropy_kernel<<<rows, 128>>>(d_losses.device, d_dlogits.device, d_x.device, d_targets.device, vocab, padded);
    cudaCheck(cudaGetLastError());
    validate("crossentropy", d_losses.host(), losses, 1e-5f);
    return failures;
}
