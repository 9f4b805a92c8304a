// Inline PTX of the common kinds.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>

__device__ unsigned lane() {
    unsigned result;
    asm("mov.u32 %0, %%laneid;" : "=r"(result));
    return result;
}

__device__ float4 streamed(const float4* from) {
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from));
    return v;
}

__global__ void words(const float4* in, float* out, int* numbers) {
    __shared__ alignas(16) float4 tile[32];
    const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(&tile[threadIdx.x]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(at), "l"(in + threadIdx.x));
    asm volatile("cp.async.commit_group;\n" ::);
    asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
    asm volatile("bar.sync 0;");
    const float4 v = streamed(in + threadIdx.x), w = tile[31 - threadIdx.x];
    float sum;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(sum) : "f"(v.x), "f"(2.0f), "f"(w.w));
    asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(out + threadIdx.x), "f"(sum) : "memory");
    unsigned mixed, above;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(mixed) : "r"(lane()), "r"(0xF0u), "r"(0x0Fu));
    asm("{\n\t.reg .pred p;\n\tsetp.gt.u32 p, %1, %2;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(above) : "r"(mixed), "r"(240u));
    int total = static_cast<int>(mixed);
    asm("mad.lo.s32 %0, %1, %2, %0;" : "+r"(total) : "r"(static_cast<int>(above)), "r"(1000));
    numbers[threadIdx.x] = total;
}

int main() {
    float4 host[32], *in;
    float sums[32], *out;
    int got[32], *numbers, wrong = 0;
    for (int i = 0; i < 32; ++i) host[i] = make_float4(i, 0, 0, 100 + i);
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof sums);
    cudaMalloc(&numbers, sizeof got);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    words<<<1, 32>>>(in, out, numbers);
    cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost);
    cudaMemcpy(got, numbers, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; ++i) {
        const int mixed = i ^ 0xFF;
        wrong += sums[i] != 2.0f * i + 131 - i;
        wrong += got[i] != mixed + (mixed > 240 ? 1000 : 0);
    }
    cudaFree(in);
    cudaFree(out);
    cudaFree(numbers);
    return wrong != 0;
}
