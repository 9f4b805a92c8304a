"""Checks see every block and lane, and end loops that nobody ends."""

from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.emulator.device_trace import DeviceDefect
from harness.cuda.programs.program import Mode

PROGRAM = r"""
#include <cuda_runtime.h>

__global__ void unwritten_in_block_one(int* out) {
    __shared__ int s[32];
    if (blockIdx.x != 1) s[threadIdx.x] = 1;
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];
}

__global__ void outsider_still_runs(int* out) {  // lane 31 writes, and the others meet without it
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 16) {
        __syncwarp(0xFFFF);
        if (t == 0) out[0] = s[31];
    }
    __syncwarp();
    out[t + 1] = t;
}

__global__ void outsider_has_left(int* out) {  // lane 31 writes and leaves, and the others meet without it
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t >= 16) return;
    __syncwarp(0xFFFF);
    if (t == 0) out[0] = s[31];
}

__global__ void half_a_warp(int* out) {  // right: all that is read was written by lanes that met
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t >= 16) return;
    __syncwarp(0xFFFF);
    out[t] = s[15 - t];
}

__global__ void named_and_left(int* out) {  // right: the mask names the lanes that left, so the others waited for them
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t >= 16) return;
    __syncwarp();
    out[t] = s[31 - t];
}

int main() {
    int* out;
    cudaMalloc(&out, 4096);
    unwritten_in_block_one<<<3, 32>>>(out);
    outsider_still_runs<<<1, 32>>>(out);
    outsider_has_left<<<1, 32>>>(out);
    half_a_warp<<<1, 32>>>(out);
    named_and_left<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def defects(tmp_path_factory: pytest.TempPathFactory) -> list[list[DeviceDefect]]:
    """The errors of one run each, in several schedules."""
    file = tmp_path_factory.mktemp("lanes") / "lanes.cu"
    file.write_text(PROGRAM)
    runs = ran(file, Mode.CHECK, seeds=(0, 1, 2, 3))
    assert all(run.completed.returncode == 0 and run.report for run in runs), [run.completed.output for run in runs]
    return [run.report.found() for run in runs if run.report]


def of(kernel: str, defects: list[DeviceDefect]) -> list[DeviceDefect]:
    return [defect for defect in defects if defect.kernel == kernel]


def test_shared_memory_that_one_block_leaves_unwritten_is_reported(defects: list[list[DeviceDefect]]) -> None:
    """What an earlier block wrote to shared memory does not count as written in the next one."""
    for found in defects:
        seen = of("unwritten_in_block_one", found)
        assert {defect.kind for defect in seen} == {"uninitialized_read"}, seen
        assert {defect.block for defect in seen} == {(1, 0, 0)}


@pytest.mark.parametrize("kernel", ["outsider_still_runs", "outsider_has_left"])
def test_a_partial_syncwarp_orders_no_lane_outside_its_mask(kernel: str, defects: list[list[DeviceDefect]]) -> None:
    """A lane that the mask leaves out is ordered with nobody, whether it still runs or has left the kernel."""
    for found in defects:
        seen = of(kernel, found)
        assert {defect.kind for defect in seen} == {"shared_race"}, seen
        threads = [{place.thread for place in (defect, defect.other) if place} for defect in seen]
        assert threads == [{(0, 0, 0), (31, 0, 0)}]


def test_a_partial_syncwarp_orders_the_lanes_of_its_mask(defects: list[list[DeviceDefect]]) -> None:
    """Lanes that the mask names are ordered, also those that have left the kernel before."""
    for found in defects:
        assert of("half_a_warp", found) == []
        assert of("named_and_left", found) == []


WAITS = r"""
#include <cuda_runtime.h>
__global__ void wait(WORD* flag) { while (READ == 0) {} }
int main() {
    int* flag;
    cudaMalloc(&flag, 4);
    cudaMemset(flag, 0, 4);
    wait<<<BLOCKS, 32>>>(flag);
    return cudaDeviceSynchronize() == cudaSuccess;
}
"""


@pytest.mark.parametrize(("word", "read"), [("volatile int", "*flag"), ("int", "atomicAdd(flag, 0)")])
def test_a_flag_that_nobody_raises_is_a_deadlock(tmp_path: Path, word: str, read: str) -> None:
    file = tmp_path / "wait.cu"
    file.write_text(WAITS.replace("WORD", word).replace("READ", read).replace("BLOCKS", "1"))
    (run,) = ran(file, Mode.CHECK, seconds=30)
    assert run.report, run.ended
    assert [(d.kind, d.line) for d in run.report.defects if d.severity == "error"] == [("deadlock", 3)]
    assert run.completed.returncode == 0  # the launch failed, and the host went on


def test_a_block_that_waits_for_a_later_one_is_unsupported(tmp_path: Path) -> None:
    file = tmp_path / "wait.cu"
    file.write_text(WAITS.replace("WORD", "volatile int").replace("READ", "*flag").replace("BLOCKS", "2"))
    (run,) = ran(file, Mode.CHECK, seconds=30)
    assert run.report, run.ended
    assert [d.text for d in run.report.defects if d.severity == "error"] == []
    assert len(run.report.unsupported) == 1
