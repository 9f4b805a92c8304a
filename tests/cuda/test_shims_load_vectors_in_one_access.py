"""A vector that is loaded, stored or copied is one access of its size to the device, with either compiler."""

from collections import Counter
from pathlib import Path

import pytest
from shim_headers import compiled, compilers, hooks

from harness.cuda.compilers.host_compiler import HostCompiler

SOURCE = """
#include "cuda_runtime.h"
#include "cuda_bf16.h"

union Word { float4 vector; float lanes[4]; };
struct alignas(16) Packed { float values[4]; };
static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && sizeof(float3) == 12 && alignof(float3) == 4);
static_assert(sizeof(half2) == 4 && alignof(half2) == 4 && alignof(double4) == 16 && alignof(uchar4) == 4);

extern "C" {
float dereference(const float* p, int i) {
    float4 v = reinterpret_cast<const float4*>(p)[i];
    return v.x + v.y * v.z + v.w;
}
float in_a_loop(const float4* p, int n) {
    float sum = 0;
    #pragma unroll 1
    for (int i = 0; i < n; ++i) {
        const float4 v = __ldg(p + i);
        sum += v.x + v.y + v.z + v.w;
    }
    return sum;
}
void copy(const float4* p, float4* q, int i) { q[i] = p[i]; }
void copy_of_lvalue(float4* p, float4* q, int i) { q[i] = p[i]; }
void scale(const float4* p, float4* q, int i) {
    float4 v = p[i];
    v.x *= 2;
    v.w += 1;
    q[i] = v;
}
void make(float4* q, float a) { *q = make_float4(a, a + 1, a + 2, a + 3); }
void braces(float4* q, float a) { q[3] = {a, a, 1}; }
void list(float4* q, float a) { *q = float4{a, a + 1, a + 2, a + 3}; }
void fill_and_store(float4* q, float a) {
    float4 v;
    v.x = a, v.y = 2, v.z = 3, v.w = a;
    __stcs(q + 2, v);
}
void through_a_union(const float4* p, float4* q, int i) {
    Word word;
    word.vector = p[i];
    for (int k = 0; k < 4; ++k) word.lanes[k] *= 2;
    q[i] = word.vector;
}
int integers(const int4* p, int i) { int4 v = p[i]; return v.x ^ v.w; }
double doubles(const double2* p, int i) { double2 v = p[i]; return v.x - v.y; }
float two_floats(const float2* p, int i) { float2 v = p[i]; return v.x + v.y; }
int bytes(const uchar4* p, int i) { uchar4 v = p[i]; return v.x + v.w; }
void halves(const half2* p, half2* q, int i) { half2 v = p[i]; q[i] = __hadd2(v, v); }
void brains(const __nv_bfloat162* p, __nv_bfloat162* q, int i) {
    const float2 v = __bfloat1622float2(p[i]);
    q[i] = __floats2bfloat162_rn(v.x, 2 * v.y);
}
float either(const float4* p, int i, bool c) {
    const float4 v = c ? p[i] : make_float4(0, 0, 0, 0);
    return v.x + v.w;
}
void pack(const half* x, half* y) {
    half values[8];
    reinterpret_cast<float4*>(&values[0])[0] = reinterpret_cast<const float4*>(&x[0])[0];
    for (int i = 0; i < 8; ++i) values[i] += values[i];
    reinterpret_cast<float4*>(&y[0])[0] = reinterpret_cast<float4*>(&values[0])[0];
}
void one_half(const half* p, half* q, int i) { q[i] = __float2half(2 * __half2float(p[i])); }
float own_struct(const float* p, int i) {
    const Packed v = reinterpret_cast<const Packed*>(p)[i];
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += v.values[k];
    return sum;
}
float one_component(const float4* p, int i) { return p[i].y; }
}
"""
EXPECTED = {
    "dereference": {"read16": 1},
    "in_a_loop": {"read16": 1},
    "copy": {"read16": 1, "write16": 1},
    "copy_of_lvalue": {"read16": 1, "write16": 1},
    "scale": {"read16": 1, "write16": 1},
    "make": {"write16": 1},
    "braces": {"write16": 1},
    "list": {"write16": 1},
    "fill_and_store": {"write16": 1},
    "through_a_union": {"read16": 1, "write16": 1},
    "integers": {"read16": 1},
    "doubles": {"read16": 1},
    "two_floats": {"read8": 1},
    "bytes": {"read4": 1},
    "halves": {"read4": 1, "write4": 1},
    "brains": {"read4": 1, "write4": 1},
    "either": {"read16": 1},
    "pack": {"read16": 1, "write16": 1},
    "one_half": {"read2": 1, "write2": 1},
    "one_component": {"read4": 1},
}
ONLY_GCC = {"own_struct": {"read16": 1}}
"""What clang takes apart before it instruments."""
TRIVIAL = """
#include <type_traits>
#include "cuda_runtime.h"
static_assert(std::is_trivial_v<float4> && std::is_aggregate_v<float4> && std::is_trivially_copyable_v<int2>);
"""


@pytest.mark.parametrize("compiler", list(compilers()), ids=lambda c: f"{c.kind}-{c.version}")
def test_each_vector_is_one_access(tmp_path: Path, compiler: HostCompiler) -> None:
    found = hooks(SOURCE, tmp_path, compiler)
    expected = EXPECTED | (ONLY_GCC if compiler.kind == "gcc" else {})
    assert {name: found.get(name, Counter()) for name in expected} == expected


def test_gcc_has_them_trivial_as_cuda_does(tmp_path: Path) -> None:
    gcc = next((c for c in compilers() if c.kind == "gcc"), None)
    if gcc is None:
        pytest.skip("needs g++: clang's vectors copy themselves")
    compiled(TRIVIAL, tmp_path / "trivial.o", gcc, "-c", instrumented=True)
