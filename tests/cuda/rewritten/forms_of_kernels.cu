// Kernels in every form that a source may give them; main returns the number of the first one that went wrong.
#include <cstdio>
#include <type_traits>

#define HD __host__ __device__ __forceinline__
#define KERNEL extern "C" __global__ void

__global__ void declared(float* out, int n = 3);

namespace outer {
namespace inner {
__global__ void later(float* out);
}
template <typename T, int SCALE = 2, typename... Rest>
static __global__ void __launch_bounds__(64, SCALE) packed(T* out, float (*)(float), int, Rest... rest) {
    out[threadIdx.x] = static_cast<T>(SCALE * (rest + ... + 0));
}
template <template <class> class Wrapper, class T, class = std::enable_if_t<std::is_floating_point_v<T>>>
__global__ void wrapped(Wrapper<T> value, T* const __restrict__ out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = value.held;
}
}  // namespace outer

__global__ void outer::inner::later(float* out) { out[0] = 7; }

template <class T>
struct Box {
    T held;
};

template <typename T>
__global__ void special(T* out) {
    out[0] = 1;
}
template <>
__global__ void special<int>(int* out) {
    out[0] = 2;
}
template __global__ void special<double>(double*);

template <bool FIRST, class Op>
__global__ void functor(Op op, float* out) {
    if constexpr (FIRST) out[0] = op(3.f);
}
struct Square {
    HD float operator()(float x) const { return x * x; }
};

KERNEL plain_name(const float* in, float out[]) { out[threadIdx.x] = in[threadIdx.x] + 1; }

extern "C" {
__global__ __launch_bounds__(32) void grouped(float* out) {
    out[threadIdx.x] = blockDim.x;
}
}

__global__ void declared(float* out, int n) {
    auto add = [=] __device__(float x) { return x + n; };
    out[0] = add(1.f);
}

void __global__ odd_order(float *out)
{
    if (threadIdx.x == 0) { out[0] = warpSize; }
}

__global__ void nothing() {}
__global__ void overloaded(float* out) { *out = 1; }
__global__ void overloaded(int* out) { *out = 2; }

struct Parameters {
    float weights[3];
    int n;
};
__global__ void by_value(const Parameters p, float* out) {
    for (int i = 0; i < p.n; i++) *out += p.weights[i];
}

template <void (*K)(float*)>
void run_it(float* out) {
    K<<<1, 1>>>(out);
}

struct Runner {
    void (*kernel)(float*);
    template <class T>
    void run(T* out) {
        this->kernel<<<dim3(1, 1), dim3(1)>>>(out);
    }
};

static float half_of(float x) { return x / 2; }

int main() {
    float *out, h = 0, in[4] = {1, 2, 3, 4}, *device_in;
    int* ints;
    cudaMalloc(&out, 256 * sizeof(float));
    cudaMalloc(&device_in, sizeof(in));
    cudaMemcpy(device_in, in, sizeof(in), cudaMemcpyHostToDevice);
    cudaMalloc((void**)&ints, sizeof(int));
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    auto first = [&] {
        cudaDeviceSynchronize();
        cudaMemcpy(&h, out, sizeof(h), cudaMemcpyDeviceToHost);
        return h;
    };
    dim3 gridDim(1), blockDim(2);  // a host's own variables of these names
    declared<<<gridDim, blockDim.x / 2>>>(out);
    if (first() != 4) return 1;
    outer::packed<float, 3><<<1, 1, 0, stream>>>(out, half_of, 0, 1, 2, 3);
    if (first() != 18) return 2;
    outer::packed<float><<<1, 1, 0>>>(out, nullptr, 0);
    if (first() != 0) return 3;
    outer::wrapped<Box, float><<<dim3{2}, 2>>>(Box<float>{5}, out);
    if (first() != 5) return 4;
    special<<<1, 1>>>(ints);
    int i;
    cudaMemcpy(&i, ints, sizeof(i), cudaMemcpyDeviceToHost);
    if (i != 2) return 5;
    special<float><<<1, 1>>>(out);
    if (first() != 1) return 6;
    functor<true><<<1,
                    1  // one thread
                    >>>(Square(), out);
    if (first() != 9) return 7;
    plain_name<<<1, 4>>>(device_in, out);
    if (first() != 2) return 8;
    grouped<<<1, 32>>>(out);
    if (first() != 32) return 9;
    odd_order<<<1, 1>>>(out);
    if (first() != 32) return 10;
    ::nothing<<<1, 1>>>();
    overloaded<<<1, 1>>>(out);
    if (first() != 1) return 11;
    cudaMemset(out, 0, 4);
    Parameters p{{1, 2, 3}, 3};
    by_value<<<1, 1>>>(p, out);
    if (first() != 6) return 12;
    run_it<outer::inner::later>(out);
    if (first() != 7) return 13;
    Runner{special<float>}.run(out);
    if (first() != 1) return 14;
    void (*chosen[2])(float*) = {odd_order, special<float>};
    chosen[0]<<<1, 1>>>(out);
    if (first() != 32) return 15;
    (*chosen[1])<<<(h > 1 ? 1 : 2), 1>>>(out);
    if (first() != 1) return 16;
    if (h == 1) odd_order<<<1, 1>>>(out); else special<<<1, 1>>>(out);
    if (first() != 32) return 17;
    cudaFuncSetAttribute(outer::packed<float, 3>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
    return cudaGetLastError() == cudaSuccess ? 0 : 18;
}
