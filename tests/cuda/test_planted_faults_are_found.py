"""Of the small programs with one planted memory or synchronisation fault each, nearly all are caught at the right line.

A line that ends in `// FAULT kind` is where the fault must be reported; where a race has two such lines, as both sides.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.program import Mode, ProgramRun

FOLDER = Path(__file__).parent / "faults"
FAULT = re.compile(r"// FAULT ([a-z_|]+)$")
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.cu"))
MISSED: dict[str, str] = {}
"""Programs whose fault is not found, each with the reason."""


@dataclass(frozen=True)
class Planted:
    kinds: frozenset[str]
    lines: frozenset[int]

    @classmethod
    def of(cls, file: Path) -> "Planted":
        marked = [(n, FAULT.search(text)) for n, text in enumerate(file.read_text().splitlines(), 1)]
        found = [(n, match[1]) for n, match in marked if match]
        return cls(frozenset("|".join(kinds for _, kinds in found).split("|")), frozenset(n for n, _ in found))

    def caught(self, run: ProgramRun, file: str) -> bool:
        """Whether one defect of the right kind names every marked line."""
        for defect in run.report.defects if run.report else ():
            sides = {(p.file, p.line) for p in (defect, defect.other) if p}
            if defect.kind in self.kinds and {(file, line) for line in self.lines} <= sides:
                return True
        return False


def told(run: ProgramRun) -> str:
    defects = run.report.defects if run.report else []
    found = [(d.kind, d.severity, d.file, d.line, d.other and d.other.line, d.text) for d in defects]
    return f"{run.ended}: {found or 'nothing found'}\n{run.completed.output}"


def test_the_corpus_is_large_enough() -> None:
    assert len(PROGRAMS) >= 32
    assert all(Planted.of(FOLDER / f"{name}.cu").lines for name in PROGRAMS)
    # the promise: at least 30 of 32
    assert len(MISSED) <= len(PROGRAMS) * 2 / 32


@pytest.mark.drawn(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_caught(name: str) -> None:
    file = FOLDER / f"{name}.cu"
    (run,) = ran(file, Mode.CHECK)
    caught = Planted.of(file).caught(run, file.name)
    assert caught == (name not in MISSED), told(run)
