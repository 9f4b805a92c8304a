"""CUDA programs with their own `main`, built for the emulated device and run in the sandbox."""

import math
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import IntEnum, IntFlag
from pathlib import Path

from harness.cuda.emulator.build import Built, build
from harness.cuda.emulator.device_trace import Report, parse_stream
from harness.errors import CLOSE, NotFoundError
from harness.sandbox import CommandLimit, Completed, Tier
from harness.sandbox.session import command

SUFFIXES = frozenset({".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".c", ".cc", ".cpp", ".cxx"})
"""Suffixes of source files."""
MOST_CORES = 8
"""Most processors for one launch; each holds a copy of the shadow memory."""
_NO_MAIN = re.compile(r"(?:.*: in function .*\n)?.*undefined reference to [`']main'.*(?:\n.*\bld returned .*)?")
"""Lines of the linker about a program without `main`, with its last line if nothing else is wrong."""
_GRACE = 3.0
"""Seconds between the device's own timeout, which reports where the program stood, and the sandbox's."""
_LOOKED_AT = 20_000  # files of a folder to scan for sources: a home folder may hold far more


class Mode(IntFlag):
    """Flags of a run."""

    PLAIN = 0
    CHECK = 1
    COUNT = 2


class BlockOrder(IntEnum):
    """Order of a grid's blocks."""

    FORWARD = 0
    BACKWARD = 1
    MIXED = 2

    @classmethod
    def of(cls, seed: int) -> "BlockOrder":
        """Return a schedule's order."""
        return cls.FORWARD if not seed else cls.BACKWARD if seed % 2 else cls.MIXED


@dataclass(frozen=True)
class ProgramLimits:
    """Limits of a program.

    Attributes:
        seconds: wall time until it is killed and has failed.
        enough_seconds: wall time until it is stopped without failing; None for no such limit.
        launches: kernel launches until it is stopped; None for all.
        blocks: most blocks of each launch: the first, the last, and random others; None for all.
        cores: most processors for a long launch; None for all, up to `MOST_CORES`.
    """

    seconds: float = 60
    memory_mib: int = 8192
    enough_seconds: int | None = None
    launches: int | None = None
    blocks: int | None = None
    cores: int | None = None


@dataclass(frozen=True)
class ProgramSource:
    """A program as it was written.

    Attributes:
        folder: all that it may include and read.
        entries: files to compile, relative to `folder`.
        changed: differences between source and build, in words.
        listed: source files, relative to `folder` if inside; None for all in `folder`.
    """

    folder: Path
    entries: tuple[str, ...]
    changed: tuple[str, ...] = ()
    listed: tuple[str, ...] | None = None

    @classmethod
    def of(cls, files: Sequence[Path], root: Path | None = None) -> "ProgramSource":
        """Locate the program made of `files`; without `root`, in their lowest common folder.

        Raises:
            NotFoundError: a file that does not exist or lies outside `root`.
        """
        for file in files:
            if not file.is_file():
                raise _make_source_error(file)
        paths = [file.resolve() for file in files]
        folder = root.resolve() if root else Path(os.path.commonpath([path.parent for path in paths]))
        outside = next((path for path in paths if not path.is_relative_to(folder)), None)
        if outside is not None:
            raise NotFoundError(
                f"{outside}: lies outside --root {folder}\n  try: --root {os.path.commonpath([folder, outside])}"
            )
        return cls(folder, tuple(path.relative_to(folder).as_posix() for path in paths))

    def files(self) -> tuple[str, ...]:
        """Return every source file, relative to the folder."""
        if self.listed is not None:
            return self.listed
        return tuple(path.relative_to(self.folder).as_posix() for path in self._walk() if path.suffix in SUFFIXES)

    def line(self, file: str, number: int) -> str:
        """Return a source line without indentation, or an empty string."""
        try:
            lines = (self.folder / file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return lines[number - 1].strip()[:160] if 1 <= number <= len(lines) else ""

    def around(self, file: str, number: int, lines: int = 1) -> list[tuple[int, str]]:
        """Return a line with its neighbours and their numbers, or an empty list."""
        try:
            text = (self.folder / file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        if not 1 <= number <= len(text):
            return []
        return [(n, text[n - 1].rstrip()) for n in range(max(1, number - lines), min(len(text), number + lines) + 1)]

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
        seed: schedule seed; 0 is in order.
        report: the device's; None if not even the start is known.
    """

    seed: int
    report: Report | None
    completed: Completed
    limits: ProgramLimits = ProgramLimits()

    @property
    def ended(self) -> str:
        """Description of the process's end."""
        done = self.completed
        if done.exceeded is CommandLimit.OUTPUT:
            return "killed: it printed over 1 MiB"
        if done.exceeded is CommandLimit.RESOURCES:
            return "killed: it started too many processes or threads, or filled its scratch space"
        if self._out_of_time:
            return f"killed: it did not end within {self.limits.seconds:g} s"
        if self.stopped_as_asked:
            return "stopped, as asked"
        if self._signal:
            return f"killed by signal {self._signal} ({signal.Signals(self._signal).name})"
        return f"exit status {done.returncode or 0}"

    @property
    def _signal(self) -> int:
        code = self.completed.returncode or 0
        number = -code if code < 0 else code - 128  # as a shell reports it, if the sandbox's own process was in between
        return number if number in set(signal.Signals) else 0

    @property
    def failed(self) -> bool:
        """True if the program reports a failure, or could not report."""
        if self.share is not None and not (self._signal or self.completed.exceeded or self._out_of_time):
            return False  # it may lack the results of the other blocks
        return not self.stopped_as_asked and self.completed.returncode != 0

    @property
    def stopped_as_asked(self) -> bool:
        """True if it was stopped at a budget set by its user."""
        if self.report is None or self.report.stopped is None or self.completed.exceeded:
            return False
        return self.report.stopped.why == "launches" or not self._out_of_time

    @property
    def launches(self) -> int:
        """Known number of launches begun."""
        if self.report is None:
            return 0
        return self.report.launches_unlisted + sum(launch.count for launch in self.report.launches)

    @property
    def cut_off(self) -> bool:
        """True if it was stopped, or ended before its report."""
        return self.report is None or not self.report.whole or self.report.stopped is not None

    @property
    def share(self) -> str | None:
        """Fraction of its blocks that ran, in words; None if all did."""
        if self.report is not None and not self.report.whole and self.limits.blocks:
            return f"--blocks {self.limits.blocks} ran so many blocks of each launch at most"
        if self.report is None or self.report.blocks_run == self.report.blocks_launched:
            return None
        run, blocks = self.report.blocks_run, self.report.blocks_launched
        return f"--blocks {self.limits.blocks} ran {run:,} of {blocks:,} blocks, {_format_percent(run / blocks)}"

    @property
    def unchecked(self) -> str:
        """Reasons for incomplete checks, or empty."""
        return "; ".join(reason for reason in (self._unfinished, self.share) if reason)

    @property
    def _unfinished(self) -> str:
        if self.report is None:
            return "it left no report"
        if self.report.stopped and self.stopped_as_asked:
            launches, seconds = self.limits.launches, self.limits.enough_seconds
            return f"--launches {launches}" if self.report.stopped.why == "launches" else f"--seconds {seconds}"
        if not self.report.whole:
            by_itself = not (self._signal or self.completed.exceeded or self._out_of_time)
            return f"it left without its report ({self.ended}), as _exit does" if by_itself else self.ended
        if self.report.unsupported:
            return "it needs what the device lacks"
        if self.report.launches_not_run:
            refused = self.report.launches_not_run
            return f"{refused} launch{'es were' if refused > 1 else ' was'} refused after an error and not run"
        if self.failed and any(not launch.finished for launch in self.report.launches):
            return self.ended
        return ""

    @property
    def _out_of_time(self) -> bool:
        by_device = self.report is not None and self.report.stopped is not None and self.report.stopped.why == "time"
        enough = self.limits.enough_seconds
        return self.completed.timed_out or (by_device and (enough is None or enough >= self.limits.seconds))


def _make_source_error(given: Path) -> NotFoundError:
    if not given.is_dir():
        stems = [source.stem for source in given.parent.glob("*.cu")]  # the suffix makes all names alike
        near = [str(given.with_name(f"{stem}.cu")) for stem in get_close_matches(given.stem, stems, 1, CLOSE)]
        meant = f"; did you mean {near[0]!r}?\n  try: harness cuda check {near[0]}" if near else ""
        return NotFoundError(f"no such file: {given}{meant}")
    sources = sorted(map(str, given.glob("*.cu")))
    problem = f"is a folder{'' if sources else ' without .cu files'}"
    wanted = "give the files of a program, one of them with `main`"
    return NotFoundError(f"{given}: {problem}; {wanted}\n  try: harness cuda check {_format_some(sources)}")


def _format_some(sources: Sequence[str]) -> str:
    return " ".join(sources[:3]) or "FILE.cu"


def _format_percent(share: float) -> str:
    # a part never rounds to all or nothing
    percent = min(100 * share, 99.9)
    return f"{percent:.1f} %" if percent >= 0.1 else "under 0.1 %"


def build_program(
    source: ProgramSource,
    into: Path,
    *,
    tier: Tier,
    defines: Mapping[str, str] | None = None,
    includes: Sequence[Path] = (),
    standard: str = "c++17",
    instrumented: bool = True,
    reuse: bool = False,
    counted: bool = False,
) -> Built:
    """Build a program in the empty folder `into`, by default for checking and counting."""
    built = build(
        source.folder, source.entries, into, tier=tier, instrumented=instrumented, program=True, defines=defines or {},
        includes=includes, standard=standard, reuse=reuse, counted=counted,
    )  # fmt: skip
    has_no_main = f"{', '.join(source.entries)} {'has' if len(source.entries) == 1 else 'have'} no main"
    return replace(built, errors=_NO_MAIN.sub(has_no_main, built.errors))


def run_program(
    source: ProgramSource, program: Path, arguments: Sequence[str] = (), *, tier: Tier, mode: Mode, seed: int = 0,
    limits: ProgramLimits = ProgramLimits(), watch: Callable[[float, bytes], None] | None = None,
) -> ProgramRun:  # fmt: skip
    """Run a built program in its folder, read-only, and resolve the places in the report.

    Args:
        seed: schedule seed; 0 is in order. Others reorder threads, and blocks unless one waits for an earlier one.
        watch: called now and then with the seconds since the start and the report so far.
    """
    within = min(limits.seconds, limits.enough_seconds or limits.seconds)
    cores = limits.cores or min(len(os.sched_getaffinity(0)), MOST_CORES)
    program.parent.chmod(program.parent.stat().st_mode | 0o055)  # the sandbox's own user cannot enter a private folder

    def run(order: BlockOrder) -> tuple[Report | None, Completed]:
        settings = (
            f"EMU_MODE={mode.value}", f"EMU_SEED={seed}", f"EMU_ORDER={order.value}",
            f"EMU_REPORT_FD={command.REPORT_FD}", "EMU_FOLLOW=1", f"EMU_LAUNCHES={limits.launches or 0}",
            f"EMU_SECONDS={math.ceil(within)}", f"EMU_BLOCKS={limits.blocks or 0}",
            f"EMU_CORES={cores}",
        )  # fmt: skip
        completed = command.run(
            ("env", *settings, f"{{program}}/{program.name}", *arguments),
            source.folder, tier=tier, seconds=cores * within + _GRACE, wall_seconds=within + _GRACE,
            memory_mib=limits.memory_mib, extra={"program": program.parent}, watch=watch,
        )  # fmt: skip
        return parse_stream(completed.report), completed

    # only checks notice that blocks wait in vain, so only checks reorder them
    order = BlockOrder.of(seed) if mode & Mode.CHECK else BlockOrder.FORWARD
    report, completed = run(order)
    if report and report.blocks_waited and order is not BlockOrder.FORWARD:
        report, completed = run(BlockOrder.FORWARD)
    if report and (report.defects or report.unsupported):
        from harness.cuda.emulator.symbols import resolve  # reads ELF files, which takes long to load

        report = resolve(report, program, source.files())
    return ProgramRun(seed, report, completed, limits)
