"""A graph does what its nodes say in an order that their dependencies allow, and what a capture forbids fails."""

from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.programs.program import Mode, ProgramRun

PROGRAM = Path(__file__).parent / "graphs" / "rules.cu"
SCHEDULES = tuple(range(5))


@pytest.fixture(scope="module")
def runs() -> list[ProgramRun]:
    return ran(PROGRAM, Mode.CHECK, seeds=SCHEDULES)


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if text in line)


def test_captures_forbid_what_the_programming_guide_forbids(runs: list[ProgramRun]) -> None:
    """CUDA C++ Programming Guide, "Prohibited and Unhandled Operations": each of them invalidates the capture."""
    invalid = "end: cudaErrorStreamCaptureInvalidated"
    assert runs[0].completed.output.splitlines() == [
        "begin: cudaSuccess", "cudaMalloc: cudaErrorStreamCaptureUnsupported", invalid,
        "begin: cudaSuccess", "cudaMalloc, relaxed: cudaSuccess", "end: cudaSuccess",
        "begin: cudaSuccess", "synchronous copy: cudaErrorStreamCaptureImplicit", invalid,
        "begin: cudaSuccess", "launch on the default stream: cudaErrorStreamCaptureImplicit", invalid,
        "begin: cudaSuccess", "wait for the stream: cudaErrorStreamCaptureUnsupported", invalid,
        "begin: cudaSuccess", "other stream joins: cudaSuccess", "end: cudaErrorStreamCaptureUnjoined",
        "default stream captures: cudaErrorStreamCaptureUnsupported", "end without a beginning: cudaErrorIllegalState",
        "instantiate: cudaSuccess", "launch: cudaSuccess", "circle: cudaErrorInvalidValue",
        "update: cudaErrorNotSupported",
    ]  # fmt: skip


def test_what_graphs_lack_is_named_at_its_line(runs: list[ProgramRun]) -> None:
    for run in runs:
        assert run.report is not None
        assert [(u.what, u.line) for u in run.report.unsupported] == [
            ("updates of CUDA graphs", line_of("cudaGraphExecKernelNodeSetParams"))
        ]


def test_a_missing_dependency_shows_in_another_schedule(runs: list[ProgramRun]) -> None:
    """In schedule 0 nodes run in the order in which they were made, in others in any that their dependencies allow."""
    found = [[(d.kind, d.kernel, d.line) for d in run.report.found()] for run in runs if run.report]
    assert found[0] == []
    assert [("uninitialized_read", "read", line_of("x[threadIdx.x] + 1"))] in found
