"""A standalone CUDA program, with a `main` of its own, built for the emulated device and run in the box."""

import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path

from harness.cuda.build import Built, build
from harness.cuda.report import DeviceDefect, Report, parse
from harness.cuda.symbols import resolve
from harness.errors import NotFoundError
from harness.sandbox import CommandLimit, Completed, Tier, command

SUFFIXES = frozenset({".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".c", ".cc", ".cpp", ".cxx"})
"""Files that a CUDA program is written in."""
_LOOKED_AT = 20_000  # files of a folder that are looked at for sources: somebody's home folder holds more


class Mode(IntFlag):
    """What the emulated device does beside running."""

    PLAIN = 0
    CHECK = 1
    COUNT = 2


@dataclass(frozen=True)
class ProgramLimits:
    """What a program may use: wall seconds, and MiB of address space."""

    seconds: float = 60
    memory_mib: int = 8192


@dataclass(frozen=True)
class ProgramSource:
    """A program as it was written.

    Attributes:
        folder: everything it may include and read.
        entries: the files to compile, relative to it.
    """

    folder: Path
    entries: tuple[str, ...]

    @classmethod
    def of(cls, files: Sequence[Path], root: Path | None = None) -> "ProgramSource":
        """The program made of `files`; without `root`, in the lowest folder that holds them all.

        Raises:
            NotFoundError: a file does not exist, or lies outside `root`.
        """
        for file in files:
            if not file.is_file():
                raise NotFoundError(f"{file}: is no file")
        paths = [file.resolve() for file in files]
        folder = root.resolve() if root else Path(os.path.commonpath([path.parent for path in paths]))
        outside = next((path for path in paths if not path.is_relative_to(folder)), None)
        if outside is not None:
            raise NotFoundError(f"{outside}: lies outside --root {folder}; give a folder that holds every file")
        return cls(folder, tuple(path.relative_to(folder).as_posix() for path in paths))

    def files(self) -> tuple[str, ...]:
        """Every source file of the folder, relative to it."""
        return tuple(path.relative_to(self.folder).as_posix() for path in self._walk() if path.suffix in SUFFIXES)

    def line(self, file: str, number: int) -> str:
        """One line of a source file without its indentation; empty where there is none."""
        try:
            lines = (self.folder / file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return lines[number - 1].strip()[:160] if 1 <= number <= len(lines) else ""

    def _walk(self) -> Iterator[Path]:
        seen = 0
        for directory, folders, names in os.walk(self.folder):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            seen += len(names)
            if seen > _LOOKED_AT:
                return
            yield from (Path(directory, name) for name in sorted(names))


@dataclass(frozen=True)
class ProgramRun:
    """One run of a program.

    Attributes:
        seed: of the schedule; 0 is in order.
        report: what the device reported; None when the process did not live to write it.
        completed: the process.
    """

    seed: int
    report: Report | None
    completed: Completed

    @property
    def ended(self) -> str:
        """How the process ended, in words."""
        done = self.completed
        if done.exceeded is CommandLimit.OUTPUT:
            return "killed: it printed over 1 MiB"
        if done.timed_out:
            return f"killed: it did not end within {done.seconds:.0f} s"
        code = done.returncode or 0
        number = -code if code < 0 else code - 128  # as a shell tells of it, when the box's own process was in between
        if number in set(signal.Signals):
            return f"killed by signal {number} ({signal.Signals(number).name})"
        return f"exit status {code}"

    @property
    def failed(self) -> bool:
        """Whether the program itself says that it failed, or could not say anything."""
        return self.completed.returncode != 0


def build_program(
    source: ProgramSource,
    into: Path,
    *,
    tier: Tier,
    defines: Mapping[str, str] | None = None,
    includes: Sequence[Path] = (),
    standard: str = "c++17",
    instrumented: bool = True,
) -> Built:
    """Build the program in the empty folder `into`, with what checking and counting need unless switched off.

    Args:
        source: the program.
        into: an empty folder.
        tier: how the compiler is held.
        defines: macros.
        includes: folders that are searched for headers first, wherever they lie.
        standard: the C++ level, one of `flags.STANDARDS`.
        instrumented: whether it can be checked and counted.

    Raises:
        PrerequisiteError: there is no C++ compiler.
        BoxError: the compiler could not be started.
    """
    built = build(
        source.folder, source.entries, into, tier=tier, instrumented=instrumented, program=True, defines=defines or {},
        includes=includes, standard=standard,
    )  # fmt: skip
    if built.path is not None:
        built.path.chmod(0o755)  # a linker that may change no mode leaves it a file like any other
    return built


def run_program(
    source: ProgramSource, program: Path, arguments: Sequence[str] = (), *, tier: Tier, mode: Mode, seed: int = 0,
    limits: ProgramLimits = ProgramLimits(),
) -> ProgramRun:  # fmt: skip
    """Run a built program in its folder, which it may read and not write, and resolve what the device reported.

    Args:
        source: what it was built from.
        program: the built file.
        arguments: its command line.
        tier: how it is held.
        mode: what the device looks for.
        seed: of the schedule; 0 is in order.
        limits: wall time and memory.

    Raises:
        BoxError: it could not be started.
    """
    settings = (f"EMU_MODE={mode.value}", f"EMU_SEED={seed}", f"EMU_REPORT_FD={command.REPORT_FD}")
    program.parent.chmod(program.parent.stat().st_mode | 0o055)  # a private folder is closed to the box's own user
    completed = command.run(
        ("env", *settings, f"{{program}}/{program.name}", *arguments),
        source.folder, tier=tier, seconds=limits.seconds, wall_seconds=limits.seconds, memory_mib=limits.memory_mib,
        extra={"program": program.parent},
    )  # fmt: skip
    report = parse(completed.report)
    return ProgramRun(seed, report and resolve(report, program, source.files()), completed)


def merged(runs: Sequence[ProgramRun]) -> list[tuple[DeviceDefect, int]]:
    """The defects of all runs, equal ones once with their counts added, and in how many of the runs each was found."""
    first: dict[object, DeviceDefect] = {}
    counts: Counter[object] = Counter()
    schedules: Counter[object] = Counter()
    for run in runs:
        found = run.report.defects if run.report else []
        keys = [_sides(defect) for defect in found]
        for key, defect in zip(keys, found, strict=True):
            first.setdefault(key, defect)
            counts[key] += defect.count
        schedules.update(set(keys))
    return [(defect.model_copy(update={"count": counts[key]}), schedules[key]) for key, defect in first.items()]


def _sides(defect: DeviceDefect) -> tuple[object, ...]:
    """What makes two defects the same: another schedule may see the two sides of a race the other way round."""
    places = [defect, *([defect.other] if defect.other else [])]
    return (defect.kind, defect.kernel, frozenset((place.pc, place.file, place.line) for place in places))
