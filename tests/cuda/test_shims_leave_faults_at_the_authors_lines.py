"""A fault inside one of CUDA's own functions or types is reported at the author's line that called or used it."""

from pathlib import Path

from cuda_programs import ran

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.programs.program import Mode

PROGRAM = Path(__file__).parent / "through_shims" / "past_the_end.cu"


def test_each_kernel_is_named_with_its_marked_line() -> None:
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    marked = [number for number, line in enumerate(lines, start=1) if line.endswith("// FAULT")]
    (run,) = ran(PROGRAM, Mode.CHECK)
    assert run.report is not None, run.ended
    defects = run.report.found("error", "warning")
    assert {d.kind for d in defects} == {"out_of_bounds"}
    assert list(dict.fromkeys((d.file, d.line) for d in defects)) == [(PROGRAM.name, line) for line in marked]
    # a vector is one access of its size; so is an aligned struct, which clang takes apart
    compiler = host_compiler()
    struct = 16 if compiler is not None and compiler.kind == "gcc" else 4
    first = {d.line: d.bytes for d in reversed(defects)}
    assert [first[line] for line in marked] == [4, 16, 4, 16, struct, 4, 4, 4, 4]
