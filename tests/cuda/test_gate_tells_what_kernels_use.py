"""A submission that compiles comes with what ptxas says of each kernel: registers, spills, stack, shared memory."""

from pathlib import Path

from gate_rooms import A_TIER, RIGHT, TIERS, needs_nvcc, put

from harness.cuda.check.messages import demangle, kernels, ptx_facts
from harness.cuda.check.verdict import CompilerResult, gate
from harness.languages.cuda import _spills
from harness.model import Tier

# 200 running sums cannot stay in the 32 registers a thread is left with here
SPILLING = """
__global__ void __launch_bounds__(1024, 2) many(const float* x, float* y, int n) {
    float sums[200];
    #pragma unroll
    for (int j = 0; j < 200; ++j) sums[j] = 0.0f;
    for (int i = threadIdx.x; i < n; i += 1024)
        #pragma unroll
        for (int j = 0; j < 200; ++j) sums[j] += x[i * 200 + j] * sums[(j + 1) % 200];
    #pragma unroll
    for (int j = 0; j < 200; ++j) y[threadIdx.x * 200 + j] = sums[j];
}
"""


@needs_nvcc
@TIERS
def test_a_right_kernel_compiles_and_is_measured(tmp_path: Path, tier: Tier) -> None:
    said = gate(put(tmp_path, a_cu=RIGHT), ["a.cu"], ["twice"], tier=tier)
    assert (said.ok, said.missing, said.errors, said.text) == (True, (), (), "")
    assert said.compiler is not None and said.compiler.startswith("nvcc ")
    (kernel,) = said.kernels
    assert kernel.name == "twice_kernel"
    assert kernel.static_shared_bytes == 256 * 4
    assert 4 <= kernel.registers <= 32  # four values are alive at once; no more than a handful is needed
    assert (kernel.spill_store_bytes, kernel.spill_load_bytes, kernel.stack_bytes) == (0, 0, 0)
    assert said.facts["ptx_global_loads_4B"] == 1 and said.facts["ptx_global_stores_4B"] == 1
    assert said.facts["ptx_block_barriers"] == 1


@needs_nvcc
@A_TIER
def test_spills_are_seen(tmp_path: Path, tier: Tier) -> None:
    (kernel,) = gate(put(tmp_path, a_cu=SPILLING), ["a.cu"], [], tier=tier).kernels
    assert kernel.registers == 32  # 65,536 registers for two blocks of 1024 threads
    assert kernel.spill_store_bytes > 0 and kernel.spill_load_bytes > 0
    assert kernel.stack_bytes >= (200 - 32) * 4


@needs_nvcc
@A_TIER
def test_files_in_folders_are_linked_together(tmp_path: Path, tier: Tier) -> None:
    put(
        tmp_path,
        src__a_cu='#include "common/shared.cuh"\n' + RIGHT.replace("2.0f *", "factor *"),
        src__b_cu='#include "../common/shared.cuh"\nextern "C" float what() { return factor; }\n',
        common__shared_cuh="#pragma once\nconstexpr float factor = 2.0f;\n",
    )
    said = gate(tmp_path, ["src/a.cu", "src/b.cu"], ["twice", "what"], tier=tier)
    assert said.ok, said.text
    assert [k.static_shared_bytes for k in said.kernels] == [1024]


@needs_nvcc
@A_TIER
def test_a_device_function_of_another_file_can_be_called(tmp_path: Path, tier: Tier) -> None:
    caller = "__device__ float doubled(float);\n" + RIGHT.replace(
        "2.0f * part[threadIdx.x]", "doubled(part[threadIdx.x])"
    )
    put(tmp_path, a_cu=caller, b_cu="__device__ float doubled(float x) { return 2.0f * x; }\n")
    said = gate(tmp_path, ["a.cu", "b.cu"], ["twice"], tier=tier)
    assert said.ok, said.text


def test_names_are_read_as_their_author_wrote_them() -> None:
    read = {
        "twice": "twice",
        "_Z12twice_kernelPKfPfi": "twice_kernel",
        "_ZN2ns4softILi256EfEEvPKT0_PS1_i": "ns::soft<256, float>",
        "_ZN34_GLOBAL__N__122bd10a_4_k_cu_plainc4anonEP6float4": "anon",
        "__nv_static_25__b3f4d391_9_caller_cu_run__Z4statPi": "stat",
        "_Z1kILb1ELin3E6__halfEvv": "k<true, -3, __half>",
        "_Z1kI5thingIfEEvv": "k<...>",
        "_Z99999short": "short",
    }
    assert {mangled: demangle(mangled) for mangled in read} == read


def test_a_function_that_was_not_inlined_does_not_lend_its_frame_to_the_kernel() -> None:
    log = """
ptxas info    : Compiling entry function '_Z1kv' for 'sm_80'
ptxas info    : Function properties for _Z1kv
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Function properties for _Z6helperf
    512 bytes stack frame, 100 bytes spill stores, 100 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 16 bytes stack, 128 bytes smem, 360 bytes cmem[0], 8 bytes cmem[2]
"""
    (kernel,) = kernels(log)
    assert (kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes) == (16, 4, 8)
    assert (kernel.registers, kernel.static_shared_bytes, kernel.constant_bytes) == (24, 128, 368)


def test_a_stack_frame_is_told_beside_no_spills() -> None:
    log = """
ptxas info    : Compiling entry function '_Z1kv' for 'sm_80'
ptxas info    : Function properties for _Z1kv
    2048 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 2048 bytes stack, 360 bytes cmem[0]
"""
    verdict = _spills(CompilerResult("nvcc", True, kernels=kernels(log)))
    assert (verdict.met, verdict.measured) == (True, {"spill_bytes": 0, "stack_bytes": 2048})


def test_instructions_are_counted_by_width() -> None:
    ptx = """
    ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
    @%p1 ld.global.u8 %rs1, [%rd1];
    @!%p2 st.global.v2.u32 [%rd2], {%r1, %r2};
    ld.volatile.global.f64 %fd1, [%rd3];
    ld.param.u64 %rd1, [k_param_0];
    ld.shared.f32 %f1, [%r1];
    shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;
    bar.sync 0;
    bar.warp.sync -1;
    atom.shared.add.u32 %r1, [%r2], 1;
    red.global.add.f32 [%rd1], %f1;
    // ld.global.f32 in a comment
"""
    assert ptx_facts(ptx) == {
        "ptx_block_barriers": 1,
        "ptx_global_atomics": 1,
        "ptx_global_loads_16B": 1,
        "ptx_global_loads_1B": 1,
        "ptx_global_loads_8B": 1,
        "ptx_global_stores_8B": 1,
        "ptx_shared_atomics": 1,
        "ptx_shuffles": 1,
        "ptx_warp_barriers": 1,
    }
