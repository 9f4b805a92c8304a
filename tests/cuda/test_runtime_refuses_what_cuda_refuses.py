"""Launches and calls that CUDA refuses are refused with CUDA's error, named in the report, and the program goes on."""

from collections.abc import Callable, Iterator

import pytest
from runtime_programs import plain_program

from harness.cuda.programs.program import ProgramRun

SOURCE = r"""
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void fill(int* out, int n) {
    extern __shared__ int scratch[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}
__global__ void large(float* out) {
    __shared__ float tile[40 * 256];
    tile[threadIdx.x] = 1.0f;
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void both(float* out) {
    extern __shared__ float dynamic[];
    dynamic[threadIdx.x] = 1.0f;
    __shared__ float rest[33];
    rest[threadIdx.x] = 1.0f;
    out[threadIdx.x] = dynamic[threadIdx.x] + rest[threadIdx.x];
}

static void say(const char* what) { printf("%s %s\n", what, cudaGetErrorName(cudaGetLastError())); }

int main(int, char** argv) {
    int* out;
    float* values;
    cudaMalloc(&out, 1024 * sizeof(int));
    cudaMalloc(&values, 1024 * sizeof(float));
    if (!strcmp(argv[1], "shapes")) {
        fill<<<1, 1025>>>(out, 1024); say("1025");
        fill<<<1, dim3(32, 32, 2)>>>(out, 1024); say("2048");
        fill<<<1, dim3(1, 1, 65)>>>(out, 1024); say("z65");
        fill<<<0, 32>>>(out, 1024); say("empty");
        fill<<<dim3(1, 65536), 32>>>(out, 1024); say("tall");
        fill<<<1, 1024>>>(out, 1024); say("largest");
    } else if (!strcmp(argv[1], "shared")) {
        fill<<<1, 32, 48 * 1024>>>(out, 32); say("48KiB");
        fill<<<1, 32, 48 * 1024 + 1>>>(out, 32); say("more");
        say(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024) ? "refused" : "taken");
        cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024);
        fill<<<1, 32, 100 * 1024>>>(out, 32); say("100KiB");
        large<<<1, 32>>>(values); say("static");
        large<<<1, 32, 10 * 1024>>>(values); say("both");
    } else if (!strcmp(argv[1], "first")) {
        both<<<1, 32, 49152 - 144 + 1>>>(values); say("first");
        both<<<1, 32, 49152 - 144>>>(values); say("fits");
        both<<<1, 32, 49152 - 144 + 1>>>(values); say("again");
        both<<<1, 32, 60000>>>(values); say("far");
        cudaFuncSetAttribute(both, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);
        both<<<1, 32, 60000>>>(values); say("allowed");
        both<<<1, 32, 60001>>>(values); say("beyond");
    } else if (!strcmp(argv[1], "handles")) {
        cudaStream_t stream;
        cudaStreamCreate(&stream);
        fill<<<1, 32, 0, stream>>>(out, 32); say("stream");
        cudaStreamDestroy(stream);
        fill<<<1, 32, 0, stream>>>(out, 32); say("destroyed");
        int back[32];
        say(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost) || back[31] != 31 ? "wrong" : "right");
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ProgramRun]]:
    yield plain_program(tmp_path_factory.mktemp("refuses"), SOURCE)


def _said(run: ProgramRun) -> dict[str, str]:
    return dict(line.split() for line in run.completed.output.splitlines() if line)


def test_shapes_beyond_cudas_limits(program: Callable[..., ProgramRun]) -> None:
    run = program("shapes")
    said = _said(run)
    assert {said[name] for name in ("1025", "2048", "z65", "empty", "tall")} == {"cudaErrorInvalidConfiguration"}
    assert said["largest"] == "cudaSuccess"
    assert run.report is not None
    assert [defect.kind for defect in run.report.defects if defect.severity == "error"] == ["invalid_launch"] * 5
    assert [launch.block for launch in run.report.launches] == [(1024, 1, 1)]


def test_shared_memory_needs_the_attribute_beyond_48_kib(program: Callable[..., ProgramRun]) -> None:
    said = _said(program("shared"))
    assert said["48KiB"] == said["100KiB"] == said["static"] == "cudaSuccess"
    assert said["more"] == said["both"] == "cudaErrorInvalidValue"
    assert said["refused"] == "cudaErrorInvalidValue"


def test_the_first_launch_of_a_kernel_counts_its_static_shared_memory(program: Callable[..., ProgramRun]) -> None:
    run = program("first")
    said = _said(run)
    assert said["fits"] == said["allowed"] == "cudaSuccess"
    assert {said[name] for name in ("first", "again", "far", "beyond")} == {"cudaErrorInvalidValue"}
    assert run.report is not None
    texts = [defect.text for defect in run.report.found()]
    assert all(defect.kind == "invalid_launch" and not defect.kernel for defect in run.report.found())
    assert [text.partition("`: ")[2] for text in texts] == [
        "49009 bytes of dynamic and at least 144 of static shared memory, where 49152 is the limit without"
        " cudaFuncSetAttribute",
        "49009 bytes of dynamic and 144 of static shared memory, where 49152 is the limit without cudaFuncSetAttribute",
        "60000 bytes of dynamic and 144 of static shared memory, where 49152 is the limit without cudaFuncSetAttribute",
        "60001 bytes of dynamic and 144 of static shared memory, where cudaFuncSetAttribute allows 60000 of dynamic",
    ]
    assert [launch.dynamic_shared for launch in run.report.launches] == [49008, 60000]
    assert run.report.launches_not_run == 4


def test_a_destroyed_stream_is_no_stream(program: Callable[..., ProgramRun]) -> None:
    run = program("handles")
    said = _said(run)
    assert said["stream"] == "cudaSuccess"
    assert said["destroyed"] == "cudaErrorInvalidResourceHandle"
    assert "right" in said
    assert run.report is not None
    assert [launch.stream for launch in run.report.launches] == [1]
    assert run.report.streams.kernel_streams == [1]
