"""What a program asks of the device that it does not have is named with its line, and never called a fault."""

from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.program import Mode

FOLDER = Path(__file__).parent / "unsupported"


@pytest.mark.parametrize(
    ("name", "what", "line"),
    [("new_in_a_kernel", "new in device code", 9), ("grid_meets", "this_grid().sync() with more than one block", 8)],
)
def test_it_is_named(name: str, what: str, line: int) -> None:
    (run,) = ran(FOLDER / f"{name}.cu", Mode.CHECK)
    assert run.report is not None
    assert [(u.what, u.line) for u in run.report.unsupported] == [(what, line)]
    assert not run.report.found("error", "warning")
    assert run.ended == "exit status 0", run.completed.output
