"""A fault inside one of CUDA's own functions or types is reported at the author's line that called or used it."""

from pathlib import Path

from cuda_programs import ran

from harness.cuda.program import Mode

PROGRAM = Path(__file__).parent / "through_shims" / "past_the_end.cu"


def test_each_kernel_is_named_with_its_marked_line() -> None:
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    marked = [number for number, line in enumerate(lines, start=1) if line.endswith("// FAULT")]
    (run,) = ran(PROGRAM, Mode.CHECK)
    assert run.report is not None, run.ended
    defects = run.report.found("error", "warning")
    assert [(d.kind, d.file, d.line) for d in defects] == [("out_of_bounds", PROGRAM.name, line) for line in marked]
    # a vector or an aligned struct is one access of its size
    assert [d.bytes for d in defects] == [4, 16, 4, 16, 16, 4, 4, 4, 4]
