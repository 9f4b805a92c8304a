"""Faults in all runs of a program, one per line and kind."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.cuda.emulator.device_trace import DeviceDefect, DeviceLocation
from harness.cuda.programs.program import ProgramRun

SEVERITIES = ("error", "warning", "info")
_NOT_RUN = frozenset({"invalid_launch", "no_launch_configuration"})
_RACES = frozenset({"shared_race", "global_race"})
_MOST_TEXTS = 4  # per fault


@dataclass
class ProgramFault:
    """One fault, as its author would fix it.

    Attributes:
        defect: first observation.
        count: occurrences.
        schedules: runs with the fault.
        at_least: True if `count` is a lower bound, because a run ended early.
        others: further observations at the same line, in words; the first few.
        kernels: further kernels or instantiations with the fault.
        cause: fault that may have caused it.
        overtaken: of a race, lines of reads that came before the write, which stands at another line.
    """

    defect: DeviceDefect
    count: int = 0
    schedules: int = 0
    at_least: bool = False
    others: list[str] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    cause: "ProgramFault | None" = None
    overtaken: set[tuple[str, int]] = field(default_factory=set)

    def places(self) -> list[DeviceLocation]:
        """Return its place, and the other side of a race."""
        return [self.defect, *([self.defect.other] if self.defect.other else [])]

    def lines(self) -> set[tuple[str, int]]:
        """Return the known files and lines of its places."""
        return {(p.file, p.line) for p in self.places() if p.file is not None and p.line is not None}


def program_faults(runs: Sequence[ProgramRun]) -> list[ProgramFault]:
    """Merge defects of all runs by line and kind, without leaks, worst first and causes before effects."""
    by_key: dict[Hashable, ProgramFault] = {}
    for run in runs:
        if run.report is None:
            continue
        seen = set()
        for defect in run.report.defects:
            if defect.kind == "leaked":
                continue
            key = _make_key(defect)
            _add(by_key.setdefault(key, ProgramFault(defect)), defect, whole=run.report.whole)
            seen.add(key)
        for key in seen:
            by_key[key].schedules += 1
    found = [each for each in by_key.values() if not _is_doubtful(each, by_key.values())]
    for number, each in enumerate(found):
        each.cause = next((cause for cause in found[:number] if _explains(cause, each)), None) or next(
            (cause for cause in found[number:] if cause.defect.kind in _RACES and _explains(cause, each)), None
        )
    return list(_order(found))


def leaks(runs: Sequence[ProgramRun]) -> dict[str, list[str]]:
    """Return buffers never freed, by the line that allocates them, at most three names each."""
    found: dict[str, list[str]] = {}
    for defect in (d for run in runs if run.report for d in run.report.defects if d.kind == "leaked"):
        names = found.setdefault(f"{defect.file}:{defect.line}" if defect.file else "", [])
        if defect.buffer and defect.buffer not in names:
            names.append(defect.buffer)
    return {
        place: names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"] for place, names in found.items()
    }


def _add(finding: ProgramFault, defect: DeviceDefect, *, whole: bool) -> None:
    finding.count += defect.count
    finding.at_least |= not whole
    finding.overtaken |= _find_overtaken_lines(defect)
    known = {finding.defect.text, *finding.others}
    other_way_round = defect.kind in _RACES and defect.file is not None
    if defect.text not in known and not other_way_round and len(finding.others) < _MOST_TEXTS:
        finding.others.append(defect.text)
    if defect.kernel and defect.kernel not in (finding.defect.kernel, *finding.kernels):
        finding.kernels.append(defect.kernel)


def _make_key(defect: DeviceDefect) -> Hashable:
    places = [defect, *([defect.other] if defect.other else [])]
    where = frozenset((p.file, p.line) if p.file else (defect.kernel, p.pc) for p in places)
    # a template has as many kernels as instantiations: they count only without a line
    return defect.kind, defect.severity, where if places[0].file or places[0].pc else (defect.kernel, defect.text)


def _find_overtaken_lines(defect: DeviceDefect) -> set[tuple[str, int]]:
    read = defect.other
    if defect.access != "write" or read is None or read.access != "read" or read.file is None or read.line is None:
        return set()
    # threads of one statement, as in `x[i] += y`, read the place before they write it, whatever their order
    return {(read.file, read.line)} - {(defect.file, defect.line)}


def _is_doubtful(found: ProgramFault, others: Iterable[ProgramFault]) -> bool:
    """Return whether it is of equal writes, in a kernel whose values an error may change."""
    defect = found.defect
    if defect.severity != "info" or defect.access != "write" or defect.other is None or defect.other.access != "write":
        return False
    errors = [o for o in others if o.defect.severity == "error" and o.defect.kernel == defect.kernel]
    return any(o.defect.kind == "uninitialized_read" or o.lines() & found.lines() for o in errors)


def _explains(cause: ProgramFault, effect: ProgramFault) -> bool:
    if effect.defect.kind != "uninitialized_read" or cause.defect.severity != "error":
        return False
    if cause.defect.kind in _NOT_RUN:
        return True
    same_kernel = cause.defect.kernel == effect.defect.kernel
    return cause.defect.kind in _RACES and same_kernel and bool(cause.overtaken & effect.lines())


def _order(found: Sequence[ProgramFault]) -> Iterator[ProgramFault]:
    for severity in SEVERITIES:
        for root in (f for f in found if f.defect.severity == severity and f.cause is None):
            yield root
            yield from (f for f in found if f.cause is root and f.defect.severity == severity)
        yield from (
            f for f in found if f.defect.severity == severity and f.cause and f.cause.defect.severity != severity
        )
