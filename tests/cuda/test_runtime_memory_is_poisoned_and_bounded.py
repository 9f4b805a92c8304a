"""Memory of the device is poisoned and bounded, and what kernels allocate is theirs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_programs import ran
from runtime_programs import plain_program

from harness.cuda.programs.faults import leaks
from harness.cuda.programs.program import Mode, ProgramRun

SOURCE = r"""
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <cuda_runtime.h>

__constant__ float factors[4];
__device__ int counter = 3;

__global__ void look(const float* global, int* seen) {
    __shared__ float fixed[64];
    extern __shared__ float flexible[];
    seen[blockIdx.x * 4 + 0] = isnan(global[threadIdx.x]);
    seen[blockIdx.x * 4 + 1] = isnan(fixed[threadIdx.x]);
    seen[blockIdx.x * 4 + 2] = isnan(flexible[threadIdx.x]);
    fixed[threadIdx.x] = flexible[threadIdx.x] = 1.0f;
}
__global__ void scale(float* out) { out[threadIdx.x] = factors[threadIdx.x] * counter; }

static void say(const char* what, cudaError_t error) { printf("%s %s\n", what, cudaGetErrorName(error)); }

int main(int, char** argv) {
    float *global, *other;
    int *seen, back[8];
    cudaMalloc(&global, 1000);
    cudaMalloc(&seen, sizeof back);
    if (!strcmp(argv[1], "poison")) {
        look<<<2, 1, 256>>>(global, seen);
        cudaMemcpy(back, seen, sizeof back, cudaMemcpyDeviceToHost);
        printf("%d %d %d %d %d %d\n", back[0], back[1], back[2], back[4], back[5], back[6]);
    } else if (!strcmp(argv[1], "exhaust")) {
        say("all", cudaMalloc(&other, 3ull << 30));
        int taken = 0;
        while (cudaMalloc(&other, 100 << 20) == cudaSuccess) ++taken;
        printf("taken %d\n", taken);
        say("last", cudaGetLastError());
        say("freed", cudaFree(global));
        say("small", cudaMalloc(&other, 100));
    } else if (!strcmp(argv[1], "again")) {
        std::set<void*> places;
        for (int i = 0; i < 100; ++i) {
            cudaMalloc(&other, 1 << 20);
            places.insert(other);
            cudaFree(other);
        }
        printf("%zu\n", places.size());
    } else if (!strcmp(argv[1], "copies")) {
        char host[2000];
        say("exact", cudaMemcpy(global, host, 1000, cudaMemcpyHostToDevice));
        say("past", cudaMemcpy(global, host, 1001, cudaMemcpyHostToDevice));
        say("direction", cudaMemcpy(global, host, 1000, cudaMemcpyDeviceToHost));
        say("set", cudaMemset(global, 0, 1001));
        say("rows", cudaMemcpy2D(host, 20, global, 100, 10, 10, cudaMemcpyDeviceToHost));
        say("inside", cudaFree(global + 1));
        say("free", cudaFree(global));
        say("again", cudaFree(global));
        say("after", cudaMemcpy(host, global, 4, cudaMemcpyDeviceToHost));
    } else if (!strcmp(argv[1], "symbols")) {
        float in[4] = {1, 2, 3, 4}, out[4];
        int ten = 10;
        cudaMemcpyToSymbol(factors, in, sizeof in);
        cudaMemcpyToSymbol(counter, &ten, sizeof ten);
        scale<<<1, 4>>>(global);
        cudaMemcpy(out, global, sizeof out, cudaMemcpyDeviceToHost);
        printf("%g %g\n", out[0], out[3]);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ProgramRun]:
    return plain_program(tmp_path_factory.mktemp("memory"), SOURCE)


def _said(run: ProgramRun) -> dict[str, str]:
    return dict(line.split() for line in run.completed.output.splitlines() if line)


def test_memory_starts_as_nan_in_every_block(program: Callable[..., ProgramRun]) -> None:
    assert program("poison").completed.output.split() == ["1"] * 6


def test_exhausted_memory_is_an_error_and_no_crash(program: Callable[..., ProgramRun]) -> None:
    run = program("exhaust")
    said = _said(run)
    assert said["all"] == said["last"] == "cudaErrorMemoryAllocation"
    assert said["taken"] == "20"  # of 100 MiB, in the 2048 MiB that there are
    assert said["freed"] == said["small"] == "cudaSuccess"
    assert run.report is not None
    assert run.report.memory.peak_bytes == 20 * (100 << 20) + 1000 + 32


def test_freed_memory_is_kept_from_use_for_a_while_only(program: Callable[..., ProgramRun]) -> None:
    """Where no access is watched: each page that was ever used makes every later call dearer."""
    places = int(program("again").completed.output)
    assert 2 <= places <= 12, "8 MiB are kept from use, and each buffer takes one"


def test_copies_and_frees_are_checked(program: Callable[..., ProgramRun]) -> None:
    run = program("copies")
    said = _said(run)
    wrong = ("past", "direction", "set", "inside", "again", "after")
    assert {said[name] for name in wrong} == {"cudaErrorInvalidValue"}
    assert {said[name] for name in ("exact", "rows", "free")} == {"cudaSuccess"}
    assert run.report is not None
    assert [defect.kind for defect in run.report.defects if defect.severity == "error"] == [
        "out_of_bounds", "device_pointer_on_host", "out_of_bounds", "invalid_free", "double_free", "use_after_free",
    ]  # fmt: skip
    for name, defect in zip(wrong, run.report.defects, strict=False):
        assert f'say("{name}"' in SOURCE.splitlines()[(defect.line or 0) - 1]


def test_symbols_are_device_memory(program: Callable[..., ProgramRun]) -> None:
    run = program("symbols")
    assert run.completed.output.split() == ["10", "40"]


PROGRAM = Path(__file__).parent / "heap" / "handed_to_the_host.cu"
LINES = PROGRAM.read_text().splitlines()


@pytest.fixture(scope="module")
def run() -> ProgramRun:
    (run,) = ran(PROGRAM, Mode.CHECK)
    return run


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(LINES, 1) if text in line)


def test_the_heap_ends_at_its_limit(run: ProgramRun) -> None:
    """CUDA C++ Programming Guide, "Heap Memory Allocation": 8 MiB unless set; then `malloc` returns a null pointer."""
    said = run.completed.output.splitlines()
    assert said[0] == f"limit {8 << 20}"
    assert said[3] == f"{((1 << 20) - 16) // 100_000} blocks of 100,000 bytes"


def test_the_host_can_neither_copy_nor_free_it(run: ProgramRun) -> None:
    """The same section: such memory is of no use to calls of the runtime, and only device code frees it."""
    assert run.completed.output.splitlines()[1:3] == ["copy: cudaErrorInvalidValue", "free: cudaErrorInvalidValue"]
    assert run.report is not None
    (found,) = run.report.found()
    assert (found.kind, found.line) == ("invalid_free", line_of("cudaFree(theirs)"))


def test_what_is_never_freed_is_told_at_its_line(run: ProgramRun) -> None:
    lost = leaks([run])
    assert set(lost) == {f"{PROGRAM.name}:{line_of('new float[4]')}", f"{PROGRAM.name}:{line_of('malloc(bytes)')}"}
