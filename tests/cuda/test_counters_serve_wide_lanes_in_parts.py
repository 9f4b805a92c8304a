"""Lanes of 8 and 16 bytes are served by shared memory 16 and 8 at a time; uneven loops are marked as approximate."""

import pytest
from cuda_programs import ran

from harness.cuda.emulator.device_trace import KernelLaunch
from harness.cuda.programs.program import Mode

PROGRAM = r"""
#include <cuda_runtime.h>

template <class T>
__device__ T* memory() {
    extern __shared__ double2 bytes[];
    return reinterpret_cast<T*>(bytes);
}
template <class T, int STRIDE>
__global__ void store() { memory<T>()[threadIdx.x * STRIDE] = T{}; }
__global__ void broadcast(float* out) {
    float* s = memory<float>();
    if (threadIdx.x == 0) s[3] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = s[3];
}
__global__ void uneven(const float* x, float* out) {
    float sum = 0.0f;
    for (int i = 0; i <= threadIdx.x; ++i) sum += x[i];
    out[threadIdx.x] = sum;
}
__device__ float table[64];
__constant__ float constants[64];
__global__ void symbols(float* out) {
    table[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = constants[threadIdx.x];
}

int main() {
    float* x;
    cudaMalloc(&x, 4096);
    cudaMemset(x, 0, 4096);
    store<float, 1><<<1, 32, 1 << 14>>>();
    store<float, 2><<<1, 32, 1 << 14>>>();
    store<float2, 1><<<1, 32, 1 << 14>>>();
    store<float2, 2><<<1, 32, 1 << 14>>>();
    store<float4, 1><<<1, 32, 1 << 14>>>();
    store<float4, 2><<<1, 32, 1 << 14>>>();
    store<float4, 8><<<1, 32, 1 << 14>>>();
    broadcast<<<1, 32, 1 << 14>>>(x);
    uneven<<<1, 32>>>(x, x + 64);
    symbols<<<1, 64>>>(x);
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> list[KernelLaunch]:
    file = tmp_path_factory.mktemp("counters") / "banks.cu"
    file.write_text(PROGRAM)
    (run,) = ran(file, Mode.COUNT)
    assert run.report and not run.failed, run.completed.output
    return run.report.launches


def test_wide_lanes_take_as_many_passes_as_their_parts(launches: list[KernelLaunch]) -> None:
    # 32 banks of 4 bytes. A part of a request (32, 16, 8 lanes of 4, 8, 16 bytes) takes as many passes as its busiest
    # bank has words: stride 2 gives each bank two words; float4 with stride 8 puts all 8 lanes on the same four banks.
    found = [(launch.shared_store.wavefronts, launch.shared_store.ideal_wavefronts) for launch in launches[:7]]
    assert found == [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4), (32, 4)]


def test_one_word_for_all_lanes_is_one_pass(launches: list[KernelLaunch]) -> None:
    assert launches[7].shared_load.wavefronts == 1
    assert launches[7].shared_load.bytes == 32 * 4


def test_a_loop_of_each_lanes_own_length_is_approximate(launches: list[KernelLaunch]) -> None:
    assert [launch.approximate for launch in launches] == [False] * 8 + [True, False]
    assert launches[8].global_load.bytes == 4 * 32 * 33 // 2  # exact all the same


def test_symbols_are_buffers(launches: list[KernelLaunch]) -> None:
    buffers = launches[9].buffers
    assert (buffers["table"].written_bytes, buffers["table"].unique_written_bytes) == (256, 256)
    assert (buffers["constants"].read_bytes, buffers["constants"].read_sectors) == (256, 0)
