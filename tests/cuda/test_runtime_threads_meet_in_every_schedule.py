"""Barriers, votes, shuffles of part of a warp, and loops that wait for another thread do the same in every schedule."""

from collections.abc import Callable

import pytest
from runtime_programs import plain_program

from harness.cuda.programs.program import ProgramRun

SOURCE = r"""
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void vote(int* out) {
    int t = threadIdx.x;
    int even = __syncthreads_count(t % 2 == 0);
    int all = __syncthreads_and(t >= 0);
    int some = __syncthreads_or(t == 1000);
    int next = __shfl_down_sync(0xffffffff, t, 1);
    int part = t % 32 < 8 ? __shfl_xor_sync(0x000000ff, t, 7) : __shfl_sync(0xffffff00, t, 31);
    if (t == 37) {
        out[0] = even; out[1] = all; out[2] = some; out[3] = next; out[4] = part;
    }
    if (t == 70) out[5] = part;
}

__global__ void rotate(int* out, int rounds) {
    __shared__ int seats[1024];
    int t = threadIdx.x;
    seats[t] = t;
    for (int i = 0; i < rounds; ++i) {
        __syncthreads();
        int next = seats[(t + 1) % blockDim.x];
        __syncthreads();
        seats[t] = next;
    }
    out[blockIdx.x * blockDim.x + t] = seats[t];
}

__global__ void relay(volatile int* baton) {  // the last thread goes first
    int after = blockDim.x - 1 - threadIdx.x;
    while (*baton != after) {}
    *baton = after + 1;
}

__global__ void deep(int* out) {
    volatile int local[4096];  // 16 KiB a thread
    for (int i = 0; i < 4096; i += 16) local[i] = threadIdx.x + i;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 4096; i += 16) sum += local[i] - i;
    out[threadIdx.x] = sum / 256;
}

int main(int, char** argv) {
    int* out;
    cudaMalloc(&out, 4096 * sizeof(int));
    cudaMemset(out, 0, 4096 * sizeof(int));
    static int back[4096];
    int wrong = 0;
    if (!strcmp(argv[1], "vote")) vote<<<1, 96>>>(out);
    if (!strcmp(argv[1], "rotate")) rotate<<<4, 1000>>>(out, 13);
    if (!strcmp(argv[1], "relay")) relay<<<1, 40>>>(out);
    if (!strcmp(argv[1], "deep")) deep<<<1, 1024>>>(out);
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    if (!strcmp(argv[1], "rotate"))
        for (int i = 0; i < 4000; ++i) wrong += back[i] != (i % 1000 + 13) % 1000;
    if (!strcmp(argv[1], "deep"))
        for (int i = 0; i < 1024; ++i) wrong += back[i] != i;
    for (int i = 0; i < 6; ++i) printf("%d ", back[i]);
    return wrong != 0;
}
"""

SEEDS = (0, 1, 2, 3)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ProgramRun]:
    return plain_program(tmp_path_factory.mktemp("meets"), SOURCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_votes_and_shuffles(program: Callable[..., ProgramRun], seed: int) -> None:
    run = program("vote", seed=seed)
    # of 96 threads 48 are even; thread 37 is lane 5 of warp 1, facing lane 5 ^ 7 = 2; thread 70 is lane 6 of warp 2
    assert run.completed.output.split() == ["48", "1", "0", "38", "34", "65"]


@pytest.mark.parametrize("case", ["rotate", "relay", "deep"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_thread_gets_its_turn(program: Callable[..., ProgramRun], case: str, seed: int) -> None:
    run = program(case, seed=seed)
    assert run.completed.returncode == 0, run.completed.output
    assert run.report is not None
    assert [defect for defect in run.report.defects if defect.severity != "info"] == []
    assert run.report.launches[0].finished
    if case == "relay":
        assert run.completed.output.split()[0] == "40"


def test_a_seed_names_one_schedule(program: Callable[..., ProgramRun]) -> None:
    reports = [program("rotate", seed=5).completed.report for _ in range(2)]
    assert reports[0] == reports[1]
