"""A launch whose blocks run in several processes side by side is told like one whose blocks run in turn."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.cuda.programs.program import Mode, ProgramSource, build_program
from harness.sandbox import Completed, detect
from harness.sandbox.session import command

HERE = Path(__file__).parent
TIMED = "several_host_threads"
"""Whose threads come in another order each time."""
PROGRAMS = sorted(
    path.relative_to(HERE).as_posix()
    for folder in ("clean", "faults") for path in (HERE / folder).rglob("*.cu") if path.stem != TIMED
)  # fmt: skip
SHARED = ("EMU_CORES=3", "EMU_SHARE_ALL=1")
"""However short a launch is."""

KERNELS = r"""
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <vector>
#include <cuda_runtime.h>

constexpr int kBlocks = 48, kThreads = 64, kCount = kBlocks * kThreads, kRounds = 400;
__device__ float kept[kCount];
__device__ float* pinned;

__device__ float worked(float x) {
    __shared__ float s[kThreads];
    for (int r = 0; r < kRounds; ++r) {
        s[threadIdx.x] = x;
        __syncthreads();
        x = s[(threadIdx.x + 1) % kThreads] * 0.5f + r;
        __syncthreads();
    }
    return x;
}

__global__ void apart(float* x, unsigned char* bytes) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    x[i] = kept[i] = worked(x[i]);
    bytes[3 * i] = blockIdx.x;  // some words are of two blocks
    bytes[3 * i + 2] = threadIdx.x;
}
__global__ void last_prints(float* x, unsigned char*) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    x[i] = worked(x[i]);
    if (i == kCount - 1) printf("the last\n");
}
__global__ void last_reads_the_first(float* x, unsigned char*) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    x[i] = worked(x[i]) + (blockIdx.x == kBlocks - 1 ? x[kThreads * 2 + threadIdx.x] : 0.0f);
}
__global__ void last_writes_past_the_end(float* x, unsigned char* bytes) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    x[i] = worked(x[i]);
    bytes[i == kCount - 1 ? 3 * kCount : i] = 1;
}
__global__ void later_ones_count(float* x, unsigned char*) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    x[i] = worked(x[i]);
    if (blockIdx.x > 4 && threadIdx.x == 0) atomicAdd(&kept[0], 1.0f);
}
__global__ void into_memory_of_the_host(float* x, unsigned char*) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    pinned[i] = worked(x[i]);
}

double seconds(int who) {
    rusage used;
    getrusage(who, &used);
    return used.ru_utime.tv_sec + used.ru_utime.tv_usec / 1e6;
}

int main(int, char** arguments) {
    using Kernel = void (*)(float*, unsigned char*);
    const Kernel kernels[] = {apart, last_prints, last_reads_the_first, last_writes_past_the_end, later_ones_count,
                              into_memory_of_the_host};
    static float host[kCount];
    cudaHostRegister(host, sizeof host, cudaHostRegisterMapped);
    float *x, *seen_by_device;
    cudaHostGetDevicePointer(&seen_by_device, host, 0);
    cudaMemcpyToSymbol(pinned, &seen_by_device, sizeof seen_by_device);
    unsigned char* bytes;
    cudaMalloc(&x, kCount * sizeof *x);
    cudaMalloc(&bytes, 3 * kCount);
    cudaMemset(x, 0, kCount * sizeof *x);
    cudaMemset(bytes, 0, 3 * kCount);
    const double own = seconds(RUSAGE_SELF), others = seconds(RUSAGE_CHILDREN);
    kernels[std::atoi(arguments[1])]<<<kBlocks, kThreads>>>(x, bytes);
    cudaDeviceSynchronize();
    const bool beside = seconds(RUSAGE_CHILDREN) - others > 2 * (seconds(RUSAGE_SELF) - own);
    std::vector<float> values(kCount), symbols(kCount);
    std::vector<unsigned char> single(3 * kCount);
    cudaMemcpy(values.data(), x, kCount * sizeof *x, cudaMemcpyDeviceToHost);
    cudaMemcpy(single.data(), bytes, single.size(), cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(symbols.data(), kept, sizeof kept);
    double sum = 0;
    for (int i = 0; i < kCount; ++i) {
        sum += (i % 97 + 1) * (7.0 * host[i] + values[i] + 3.0 * symbols[i] + 5.0 * single[i * 3] + single[i * 3 + 2]);
    }
    printf("sum %.17g\n", sum);
    std::fprintf(stderr, beside ? "beside each other\n" : "in turn\n");
    cudaHostUnregister(host);
    cudaFree(x);
    cudaFree(bytes);
}
"""
WAYS = ("in turn", "beside each other")
NAMES = (
    "apart",
    "last_prints",
    "last_reads_the_first",
    "last_writes_past_the_end",
    "later_ones_count",
    "into_memory_of_the_host",
)


@contextmanager
def built(file: Path) -> Iterator[tuple[ProgramSource, Path]]:
    source = ProgramSource.of([file])
    with tempfile.TemporaryDirectory() as folder:
        made = build_program(source, Path(folder), tier=detect())
        assert made.path is not None, made.errors
        Path(folder).chmod(0o755)
        yield source, made.path


def run(source: ProgramSource, program: Path, *settings: str, seed: int = 0, argument: str = "0") -> Completed:
    words = (f"EMU_MODE={Mode.CHECK.value}", f"EMU_SEED={seed}", f"EMU_REPORT_FD={command.REPORT_FD}", *settings)
    return command.run(
        ("env", *words, f"{{program}}/{program.name}", argument), source.folder, tier=detect(), seconds=60,
        memory_mib=8192, extra={"program": program.parent},
    )  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_end_and_report_alike(name: str) -> None:
    with built(HERE / name) as (source, program):
        for seed in (0, 1):
            in_turn, shared = (run(source, program, *how, seed=seed) for how in ((), SHARED))
            assert (in_turn.returncode, in_turn.output) == (shared.returncode, shared.output)
            assert in_turn.report == shared.report


def test_only_blocks_that_have_nothing_to_tell_run_beside_each_other(tmp_path: Path) -> None:
    """Whatever another block could see of a block, or has to be told, has the blocks run in turn."""
    file = tmp_path / "kernels.cu"
    file.write_text(KERNELS)
    with built(file) as (source, program):
        for number, name in enumerate(NAMES):
            in_turn, shared = (run(source, program, *how, argument=str(number)) for how in ((), SHARED))
            ways = [line for done in (in_turn, shared) for line in done.output.splitlines() if line in WAYS]
            assert ways == [WAYS[0], WAYS[name == "apart"]], name
            assert in_turn.report == shared.report
            assert in_turn.output.replace(*WAYS) == shared.output.replace(*WAYS), name
            assert (b"out_of_bounds" in shared.report) is (name == "last_writes_past_the_end")
