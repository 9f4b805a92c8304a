// Atomics, integer intrinsics, conversions and mathematics against known values and definitions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>
#include "common.h"

#define EXPECT(condition) \
    do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); atomicAdd(wrong, 1); } } while (0)
#define NEAR(value, expected) EXPECT(fabs((double)(value) - (expected)) <= 4e-7 * fabs((double)(expected)))

__global__ void integers(int* wrong) {
    EXPECT(__popc(0xf0f0u) == 8 && __popcll(~0ull) == 64 && __clz(1) == 31 && __clz(0) == 32 && __clzll(1) == 63);
    EXPECT(__ffs(8) == 4 && __ffs(0) == 0 && __ffsll(1ll << 40) == 41 && __brev(1u) == 0x80000000u && __brevll(2) == 1ull << 62);
    EXPECT(__byte_perm(0x33221100, 0x77665544, 0x7410) == 0x77441100u && __byte_perm(0x80, 0, 0x8888) == 0xffffffffu);
    EXPECT(__mulhi(-1, 1) == -1 && __umulhi(1u << 31, 4) == 2 && __mul64hi(1ll << 62, 8) == 2 && __umul64hi(~0ull, 2) == 1);
    EXPECT(__mul24(-3, 5) == -15 && __umul24(0x1000001u, 2) == 2 && __sad(3, -4, 1u) == 8 && __usad(1u, 5u, 1u) == 5);
    EXPECT(__hadd(-3, 0) == -2 && __rhadd(-3, 0) == -1 && __uhadd(~0u, ~0u) == ~0u && __funnelshift_l(1u << 31, 1u, 1) == 3);
    EXPECT(__funnelshift_r(0, 1u, 1) == 1u << 31 && __funnelshift_lc(5, 9, 40) == 5u && __funnelshift_rc(5, 9, 32) == 9u);
    EXPECT(__dp4a(0x01ff0201, 0x01010101, 10) == 13 && __dp4a(0x02u, 0x03u, 0u) == 6u && __fns(0xf0, 0, 2) == 5);
    EXPECT(min(3u, 4) == 3u && max(-1, 2) == 2 && min(5ll, 4ll) == 4 && max(1.0f, 2.0) == 2.0 && max(1.5f, NAN) == 1.5f);
    EXPECT(__float_as_int(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2.0f && __uint_as_float(__float_as_uint(-0.5f)) == -0.5f);
    EXPECT(__hiloint2double(__double2hiint(M_PI), __double2loint(M_PI)) == M_PI && __longlong_as_double(__double_as_longlong(0.1)) == 0.1);
}

__global__ void conversions(int* wrong, float tie, float big, double third) {
    EXPECT(__float2int_rn(tie) == 2 && __float2int_rz(-tie) == -2 && __float2int_ru(tie) == 3 && __float2int_rd(-tie) == -3);
    EXPECT(__float2int_rn(big) == INT_MAX && __float2int_rz(-big) == INT_MIN && __float2uint_rn(-big) == 0 && __float2uint_rz(big) == UINT_MAX);
    EXPECT(__float2int_rn(CUDART_NAN_F) == 0 && __float2ll_rd(-tie) == -3 && __double2int_rn(third) == 0 && __double2ll_ru(third) == 1);
    EXPECT(__int2float_rn(16777217) == 16777216.0f && __int2float_ru(16777217) == 16777218.0f && __int2float_rz(-16777217) == -16777216.0f);
    EXPECT(__double2float_ru(third) > third && __double2float_rd(third) < third && __double2float_rn(0.5) == 0.5f);
    EXPECT(__ll2float_rd((1ll << 40) + 1) == 1099511627776.0f && __uint2float_rn(7u) == 7.0f && __int2double_rn(-3) == -3.0);
    EXPECT(__fadd_ru(1.0f, 1e-10f) > 1.0f && __fadd_rd(1.0f, 1e-10f) == 1.0f && __fmul_rz(3.0f, third) <= 1.0f && __fsub_rd(1.0f, 1e-10f) < 1.0f);
    EXPECT(__fdiv_ru(1.0f, 3.0f) > __fdiv_rd(1.0f, 3.0f) && __frcp_rn(3.0f) == 1.0f / 3.0f && __fsqrt_ru(2.0f) > __fsqrt_rd(2.0f));
    EXPECT(__dadd_ru(1.0, 1e-20) > 1.0 && __dmul_rn(third, 3.0) == third * 3.0 && __ddiv_rd(1.0, 3.0) < __ddiv_ru(1.0, 3.0));
    EXPECT(__fmaf_rn(tie, tie, -6.25f) == 0.0f && __fmaf_ru(tie, 1.0f, 1e-10f) > tie && __fma_rz(third, 3.0, 0.0) <= 1.0);
    const float a = 1.0f + 0x1p-12f;  // a * a - (1 + 2^-11) is 2^-24 in one rounding and 0 in two
    EXPECT(__fadd_rn(__fmul_rn(a, a), -(1.0f + 0x1p-11f)) == 0.0f && fmaf(a, a, -(1.0f + 0x1p-11f)) == 0x1p-24f);
    EXPECT(__saturatef(-1.0f) == 0.0f && __saturatef(0.5f) == 0.5f && __saturatef(big) == 1.0f && __saturatef(CUDART_NAN_F) == 0.0f);
}

// expected values: a table of special functions, or an identity
__global__ void mathematics(int* wrong, float one, float half) {
    NEAR(rsqrtf(one * 4), 0.5); NEAR(rsqrt((double)one * 16), 0.25); NEAR(rcbrtf(8 * one), 0.5); NEAR(cbrtf(27 * one), 3);
    NEAR(exp10f(2 * one), 100); NEAR(exp2f(half), 1.4142135623730951); NEAR(expm1f(1e-5f * one), 1.00000500002e-5);
    NEAR(log1pf(1e-5f * one), 9.9999500003e-6); NEAR(__expf(one), 2.718281828459045); NEAR(__logf(10 * one), 2.302585092994046);
    NEAR(__log2f(8 * one), 3); NEAR(__log10f(1000 * one), 3); NEAR(__powf(2 * one, 10), 1024); NEAR(__exp10f(one), 10);
    NEAR(erff(half), 0.5204998778130465); NEAR(erfcf(2 * one), 0.004677734981047266); NEAR(erfinvf(half), 0.4769362762044699);
    NEAR(erfcinvf(1e-10f * one), 4.572824967389486); NEAR(erfcinv(1.5 * one), -0.4769362762044699); NEAR(erfcxf(30 * one), 0.018795888861416751);
    NEAR(erfcx(-(double)one), 5.00898008076228); NEAR(normcdff(one), 0.8413447460685429); NEAR(normcdfinvf(0.975f * one), 1.9599639845400545);
    NEAR(normcdfinv(1e-12 * one), -7.034483825301131); NEAR(tgammaf(5 * one), 24); NEAR(lgammaf(half), 0.5723649429247001);
    NEAR(j0f(one), 0.7651976865579666); NEAR(y1f(one), -0.7812128213002887); NEAR(cyl_bessel_i0f(one), 1.2660658777520082);
    NEAR(cyl_bessel_i1f(-one), -0.5651591039924851); NEAR(hypotf(3 * one, 4), 5); NEAR(rhypotf(3 * one, 4), 0.2);
    NEAR(norm3df(2 * one, 3, 6), 7); NEAR(rnorm3d(2.0 * one, 3, 6), 1 / 7.0); NEAR(norm4df(one, one, one, one), 2); NEAR(rnorm4df(one, one, one, one), 0.5);
    const float vector[3] = {2 * one, 3, 6};
    NEAR(normf(3, vector), 7); NEAR(rnormf(3, vector), 1 / 7.0);
    EXPECT(sinpif(one) == 0.0f && cospif(half) == 0.0f && sinpif(2.5f * one) == 1.0f && cospif(3 * one) == -1.0f && cospi(0.25 * one) > 0.707);
    NEAR(sinpi(0.25 * one), 0.7071067811865476); NEAR(cospif(1.75f * one), 0.7071067811865476); NEAR(sinpif(-1.25f * one), 0.7071067811865476);
    float s, c, sp, cp;
    sincosf(half, &s, &c);
    __sincosf(half, &sp, &cp);
    NEAR(s, sin(0.5)); NEAR(c, cos(0.5)); NEAR(sp, sin(0.5)); NEAR(cp, cos(0.5));
    sincospif(half, &sp, &cp);
    EXPECT(sp == 1.0f && cp == 0.0f && fdividef(one, 4) == 0.25f && __fdividef(one, 8) == 0.125f && fdimf(one, 3) == 0.0f);
    EXPECT(isnan(CUDART_NAN_F) && isinf(CUDART_INF_F) && !isfinite(CUDART_INF) && signbit(-one) && copysignf(one, -2) == -1.0f);
    EXPECT(fmaxf(CUDART_NAN_F, one) == one && fminf(one, CUDART_NAN_F) == one && rintf(2.5f * one) == 2.0f && roundf(2.5f * one) == 3.0f);
    EXPECT(lrintf(2.5f * one) == 2 && llroundf(2.5f * one) == 3 && nearbyintf(3.5f * one) == 4.0f && truncf(-1.5f * one) == -1.0f);
    EXPECT(umin(3u, 4u) == 3u && llmax(3ll, -4ll) == 3 && ullmin(3ull, 4ull) == 3 && abs(-3) == 3 && fabsf(-one) == one && abs(-one) == one);
}

__global__ void atomics(int* wrong, int* i, unsigned* u, unsigned long long* l, float* f, double* d, half2* h, __nv_bfloat16* b, unsigned short* s) {
    atomicAdd(i, 2); atomicSub(i, 1); atomicAdd(u, 1u); atomicAdd(l, 1ull); atomicAdd(f, 0.5f); atomicAdd(d, 0.25);
    atomicAdd(h, __floats2half2_rn(1.0f, 2.0f)); atomicAdd(b, __float2bfloat16(1.0f)); atomicAdd_block(i + 1, 1); atomicAdd_system(f + 1, 1.0f);
    atomicMax(i + 2, (int)threadIdx.x - 10); atomicMin(i + 3, -(int)threadIdx.x); atomicMax(u + 1, threadIdx.x); atomicMin(l + 1, 100ull + threadIdx.x);
    atomicOr(u + 2, 1u << threadIdx.x % 32); atomicAnd(u + 3, ~(1u << threadIdx.x % 32)); atomicXor(l + 2, 1ull << threadIdx.x % 64);
    EXPECT(atomicInc(u + 4, 9) < 10u);
    EXPECT(atomicDec(u + 5, 9) < 10u);
    for (int seen = 0, now; (now = atomicCAS(i + 4, seen, seen + 1)) != seen; seen = now) {}
    for (unsigned short seen = 0, now; (now = atomicCAS(s, seen, (unsigned short)(seen + 1))) != seen; seen = now) {}
    unsigned* word = reinterpret_cast<unsigned*>(f + 2);
    unsigned old = *(volatile unsigned*)word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __float_as_uint(fmaxf(__uint_as_float(assumed), (float)threadIdx.x)));
    } while (assumed != old);
    atomicExch(f + 3, 1.5f);
    atomicExch(l + 3, 77ull);
    __threadfence_block(); __threadfence(); __threadfence_system();
}

int main() {
    Buffer<int> wrong(std::vector<int>{0}), i(std::vector<int>(5, 0));
    integers<<<1, 1>>>(wrong.device);
    conversions<<<1, 1>>>(wrong.device, 2.5f, 1e20f, 1.0 / 3.0);
    mathematics<<<1, 1>>>(wrong.device, 1.0f, 0.5f);
    Buffer<unsigned> u(std::vector<unsigned>{0, 0, 0, ~0u, 0, 0});
    Buffer<unsigned long long> l(std::vector<unsigned long long>{0, ~0ull, 0, 0});
    Buffer<float> f(std::vector<float>(4, 0.0f));
    Buffer<double> d(std::vector<double>{0.0});
    Buffer<half2> h(1);
    Buffer<__nv_bfloat16> b(1);
    Buffer<unsigned short> s(std::vector<unsigned short>{0, 0});
    cudaCheck(cudaMemset(h.device, 0, 4));
    cudaCheck(cudaMemset(b.device, 0, 2));
    atomics<<<1, 64>>>(wrong.device, i.device, u.device, l.device, f.device, d.device, h.device, b.device, s.device);
    cudaCheck(cudaDeviceSynchronize());
    if (i.host() != std::vector<int>{64, 64, 53, -63, 64}) failures++, puts("int atomics");
    if (u.host() != std::vector<unsigned>{64, 63, ~0u, 0, 4, 6}) failures++, puts("unsigned atomics");
    if (l.host() != std::vector<unsigned long long>{64, 100, ~0ull, 77}) failures++, puts("64-bit atomics");
    validate("float atomics", f.host(), {32, 64, 63, 1.5f}, 0.0f);
    validate("double atomics", d.host(), {16}, 0.0f);
    validate("bfloat16 atomics", b.host(), {64}, 0.0f);
    const half2 pair = h.host()[0];
    return failures || wrong.host()[0] || s.host()[0] != 64 || __low2float(pair) != 64.0f || __high2float(pair) != 128.0f;
}
