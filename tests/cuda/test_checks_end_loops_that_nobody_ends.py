"""A loop waiting for what nobody will write ends as a deadlock; one waiting for a later block is unsupported."""

from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.programs.program import Mode

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
