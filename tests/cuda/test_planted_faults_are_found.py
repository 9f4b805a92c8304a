"""Of the kernels with one planted memory or synchronisation fault each, nearly all are caught at the right line.

A line that ends in `// FAULT kind` is where the fault must be reported; where a race has two such lines, as both sides.
The programs of `faults` hold one fault each, those of `faults/kernels` one for each kernel: a kernel without a marked
line is right, and nothing may be reported of it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.programs.program import Mode, ProgramRun

FOLDER = Path(__file__).parent / "faults"
FAULT = re.compile(r"// FAULT ([a-z_|]+)$")
KERNEL = re.compile(r"^__global__ void (\w+)", re.MULTILINE)
SCHEDULES = (0, 1)
"""In the first one blocks run forward, in the second one backward: some faults show in one of them only."""
FILES = sorted(path.stem for path in (FOLDER / "kernels").glob("*.cu"))
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.cu"))
MISSED: dict[str, str] = {
    "flag_of_the_block_for_the_device": "cuda::atomic orders for the whole device here, whatever its scope",
    "two_at_a_time": "who acquires a semaphore comes after all who have released it, and threads take turns",
    "hash_with_padding": "padding that is read together with a member counts only once arithmetic of floats is stored",
}
"""Programs and kernels whose fault is not found, each with the reason."""


@dataclass(frozen=True)
class Planted:
    kinds: frozenset[str]
    lines: frozenset[int]

    @classmethod
    def of(cls, file: Path) -> "Planted":
        return cls._in(list(enumerate(file.read_text().splitlines(), 1)))

    @classmethod
    def by_kernel(cls, file: Path) -> "dict[str, Planted]":
        """What is planted in each kernel of the file."""
        kernels: dict[str, list[tuple[int, str]]] = {}
        for number, text in enumerate(file.read_text().splitlines(), 1):
            if named := KERNEL.search(text):
                kernels[named[1]] = []
            if kernels:
                next(reversed(kernels.values())).append((number, text))
        return {kernel: cls._in(lines) for kernel, lines in kernels.items()}

    @classmethod
    def _in(cls, lines: list[tuple[int, str]]) -> "Planted":
        found = [(n, match[1]) for n, text in lines if (match := FAULT.search(text))]
        kinds = {kind for _, words in found for kind in words.split("|")}
        return cls(frozenset(kinds), frozenset(n for n, _ in found))

    def caught(self, run: ProgramRun, file: str, kernel: str | None = None) -> bool:
        """Whether one defect of the right kind (in that kernel) names every marked line."""
        for defect in run.report.defects if run.report else ():
            if kernel is not None and defect.kernel != kernel:
                continue
            sides = {(p.file, p.line) for p in (defect, defect.other) if p}
            if defect.kind in self.kinds and {(file, line) for line in self.lines} <= sides:
                return True
        return False


def told(run: ProgramRun) -> str:
    defects = run.report.defects if run.report else []
    found = [(d.kind, d.severity, d.file, d.line, d.other and d.other.line, d.text) for d in defects]
    return f"{run.ended}: {found or 'nothing found'}\n{run.completed.output}"


def test_the_corpus_is_large_enough() -> None:
    assert all(Planted.of(FOLDER / f"{name}.cu").lines for name in PROGRAMS)
    planted = [p for name in FILES for p in Planted.by_kernel(FOLDER / "kernels" / f"{name}.cu").values() if p.lines]
    # the promise: of at least 120, 98 %
    assert len(PROGRAMS) + len(planted) >= 120
    assert len(MISSED) <= (len(PROGRAMS) + len(planted)) * 0.02


def reports(file: Path) -> list[ProgramRun]:
    """One run in each schedule, after two others that report the same to the letter."""
    runs = ran(file, Mode.CHECK, Mode.CHECK, Mode.CHECK, seeds=SCHEDULES)
    first = runs[: len(SCHEDULES)]
    for run, again in zip(runs, first * 3, strict=True):
        assert run.report and again.report and run.report.model_dump_json() == again.report.model_dump_json()
    return first


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_caught(name: str) -> None:
    file = FOLDER / f"{name}.cu"
    run, _ = reports(file)
    caught = Planted.of(file).caught(run, file.name)
    assert caught == (name not in MISSED), told(run)


@pytest.mark.parametrize("name", FILES)
def test_each_kernel_is_judged_by_itself(name: str) -> None:
    file = FOLDER / "kernels" / f"{name}.cu"
    runs = reports(file)
    for kernel, planted in Planted.by_kernel(file).items():
        if planted.lines:
            caught = any(planted.caught(run, file.name, kernel) for run in runs)
            assert caught == (kernel not in MISSED), (kernel, *map(told, runs))
        else:
            assert all(kernel != defect.kernel for run in runs if run.report for defect in run.report.defects), kernel
