"""A fault inside a kernel ends the launch with CUDA's error, which stays; the program lives on and reports it."""

from collections.abc import Callable

import pytest
from runtime_programs import plain_program

from harness.cuda.programs.program import ProgramRun

SOURCE = r"""
#include <cassert>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void null(int* p) { p[threadIdx.x] = 1; }
__global__ void nowhere(int* p) { p[1ull << 40] = 1; }
__device__ int down(volatile int n) { volatile int a[64]; a[n % 64] = n; return n < 0 ? 0 : down(n + 1) + a[1]; }
__global__ void recurse(int* p) { p[0] = down(1); }
__global__ void claim(int n) { assert(n > 3); }
__global__ void half(int* out) {
    int v = threadIdx.x;
    if (v < 16) v = __shfl_down_sync(0xffffffff, v, 1);
    else __syncthreads();
    out[threadIdx.x] = v;
}
__global__ void split(int* out) {
    if (threadIdx.x < 64) __syncthreads(); else __syncthreads();
    out[threadIdx.x] = 5;
}
__global__ void fine(int* out) { out[threadIdx.x] = 7; }

int main(int, char** argv) {
    int* out;
    cudaMalloc(&out, 4096);
    const char* which = argv[1];
    if (!strcmp(which, "null")) null<<<1, 32>>>(nullptr);
    if (!strcmp(which, "nowhere")) nowhere<<<1, 32>>>(out);
    if (!strcmp(which, "recurse")) recurse<<<1, 32>>>(out);
    if (!strcmp(which, "claim")) claim<<<1, 32>>>(2);
    if (!strcmp(which, "half")) half<<<1, 32>>>(out);
    if (!strcmp(which, "split")) split<<<1, 128>>>(out);
    printf("%s ", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("%s ", cudaGetErrorName(cudaGetLastError()));
    fine<<<1, 32>>>(out);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ProgramRun]:
    return plain_program(tmp_path_factory.mktemp("faults"), SOURCE)


@pytest.mark.parametrize(
    ("case", "kind", "error"),
    [
        ("null", "null_pointer", "cudaErrorIllegalAddress"),
        ("nowhere", "out_of_bounds", "cudaErrorIllegalAddress"),
        ("recurse", "stack_overflow", "cudaErrorIllegalAddress"),
        ("claim", "assert", "cudaErrorAssert"),
        ("half", "deadlock", "cudaErrorLaunchFailure"),
    ],
)
def test_the_error_stays(program: Callable[..., ProgramRun], case: str, kind: str, error: str) -> None:
    run = program(case)
    assert run.completed.output.split() == [error] * 3
    assert run.completed.returncode == 0
    assert run.report is not None
    [defect] = [defect for defect in run.report.defects if defect.severity == "error"]
    assert (defect.kind, defect.kernel, defect.thread) == (kind, case, (0, 0, 0))
    assert defect.line is not None
    assert case in SOURCE.splitlines()[defect.line - 1] or kind in ("stack_overflow", "deadlock")
    assert [launch.finished for launch in run.report.launches] == [False]


def test_a_deadlock_names_who_waits_where(program: Callable[..., ProgramRun]) -> None:
    run = program("half")
    assert run.report is not None
    [text] = [defect.text for defect in run.report.defects if defect.kind == "deadlock"]
    shuffle, barrier = (
        next(number for number, line in enumerate(SOURCE.splitlines(), 1) if word in line)
        for word in ("v = __shfl_down_sync", "else __syncthreads();")
    )
    assert "16 threads (first: thread 0 of the block)" in text
    assert f"program.cu:{shuffle}" in text and "0xffffffff" in text
    assert f"program.cu:{barrier}" in text and "thread 16 of the block" in text


def test_barriers_on_one_line_are_two(program: Callable[..., ProgramRun]) -> None:
    run = program("split")
    assert run.completed.output.split() == ["cudaSuccess"] * 3  # a device may well go on; that it may not is the defect
    assert run.report is not None
    assert [defect.kind for defect in run.report.defects if defect.severity == "error"] == ["barrier_divergence"]
