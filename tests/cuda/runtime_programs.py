"""Small CUDA programs, built without instrumentation and run on the emulated device."""

from collections.abc import Callable
from pathlib import Path

from harness.cuda.programs.program import Mode, ProgramLimits, ProgramRun, ProgramSource, build_program, run_program
from harness.sandbox import detect


def plain_program(folder: Path, text: str) -> Callable[..., ProgramRun]:
    """Build the program; what is returned runs it with the words of its command line, in a schedule of `seed`."""
    source = folder / "source"
    built = folder / "built"
    source.mkdir()
    built.mkdir()
    (source / "program.cu").write_text(text, encoding="utf-8")
    program = ProgramSource.of([source / "program.cu"])
    made = build_program(program, built, tier=detect(), instrumented=False)
    assert made.path is not None, f"{made.unsupported}\n{made.errors}"
    path = made.path

    def run(*words: str, seed: int = 0) -> ProgramRun:
        return run_program(program, path, words, tier=detect(), mode=Mode.PLAIN, seed=seed, limits=ProgramLimits(60))

    return run
