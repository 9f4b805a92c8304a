"""What a program asks of the device that it does not have is named with its line, and never called a fault."""

from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.program import Mode

FOLDER = Path(__file__).parent / "unsupported"


@pytest.mark.parametrize(
    ("name", "what", "line"),
    [("launch_by_a_kernel", "a launch by a kernel", 9), ("one_kernel_of_three", "tensor-core matrices (wmma)", 14)],
)
def test_it_is_named(name: str, what: str, line: int) -> None:
    (run,) = ran(FOLDER / f"{name}.cu", Mode.CHECK)
    assert run.report is not None
    assert [(u.what, u.line) for u in run.report.unsupported] == [(what, line)]
    assert not run.report.found("error", "warning")
    assert run.ended == "exit status 0", run.completed.output


def test_it_costs_its_kernel_and_not_the_program() -> None:
    (run,) = ran(FOLDER / "one_kernel_of_three.cu", Mode.CHECK)
    assert run.report is not None
    assert [(launch.kernel, launch.finished) for launch in run.report.launches] == [
        ("before", True), ("product", False), ("after", True)
    ]  # fmt: skip
    assert run.completed.output == "cudaErrorNotSupported, then cudaSuccess\n"
    (error,) = [error for error in run.report.api_errors if error.call == "launch"]
    assert error.text == "kernel `product` was not run to its end: tensor-core matrices (wmma)"
