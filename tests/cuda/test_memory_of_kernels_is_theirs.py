"""What `malloc` and `new` of kernels take has a limit, is told where it is never freed, and is closed to the host."""

from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.programs.faults import leaks
from harness.cuda.programs.program import Mode, ProgramRun

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
