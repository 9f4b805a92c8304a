"""What all runs of a program found: one entry for each line and kind of fault, causes before their effects."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.cuda.program import ProgramRun
from harness.cuda.report import DeviceDefect, DeviceLocation

SEVERITIES = ("error", "warning", "info")
_NOT_RUN = frozenset({"invalid_launch", "no_launch_configuration"})
_RACES = frozenset({"shared_race", "global_race"})
_MOST_TEXTS = 4  # of an entry


@dataclass
class ProgramFault:
    """One fault, as somebody would mend it.

    Attributes:
        defect: what was seen of it first.
        count: how often it was met.
        schedules: in how many of the runs.
        at_least: whether it may have been met more often: a run did not live to count.
        others: further things that were seen at the same line, in words; the first few.
        kernels: further kernels, or instantiations of one, that it was met in.
        cause: the finding that it may follow from.
    """

    defect: DeviceDefect
    count: int = 0
    schedules: int = 0
    at_least: bool = False
    others: list[str] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    cause: "ProgramFault | None" = None

    def places(self) -> list[DeviceLocation]:
        """Where it was seen, and the other side of a race."""
        return [self.defect, *([self.defect.other] if self.defect.other else [])]

    def lines(self) -> set[tuple[str, int]]:
        """The lines of its places."""
        return {(p.file, p.line) for p in self.places() if p.file is not None and p.line is not None}


def program_faults(runs: Sequence[ProgramRun]) -> list[ProgramFault]:
    """The defects of all runs, those at the same lines as one, worst first and causes before what follows from them.

    What was never freed is left out: `leaks` has it.
    """
    by_key: dict[Hashable, ProgramFault] = {}
    for run in runs:
        if run.report is None:
            continue
        seen = set()
        for defect in run.report.defects:
            if defect.kind == "leaked":
                continue
            key = _key(defect)
            _add(by_key.setdefault(key, ProgramFault(defect)), defect, whole=run.report.whole)
            seen.add(key)
        for key in seen:
            by_key[key].schedules += 1
    found = list(by_key.values())
    for number, each in enumerate(found):
        each.cause = next((cause for cause in found[:number] if _explains(cause, each)), None) or next(
            (cause for cause in found[number:] if cause.defect.kind in _RACES and _explains(cause, each)), None
        )
    return list(_ordered(found))


def leaks(runs: Sequence[ProgramRun]) -> dict[str, list[str]]:
    """What the program allocated and never freed: buffers by the line that allocates them."""
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
    known = {finding.defect.text, *finding.others}
    other_way_round = defect.kind in _RACES and defect.file is not None
    if defect.text not in known and not other_way_round and len(finding.others) < _MOST_TEXTS:
        finding.others.append(defect.text)
    if defect.kernel and defect.kernel not in (finding.defect.kernel, *finding.kernels):
        finding.kernels.append(defect.kernel)


def _key(defect: DeviceDefect) -> Hashable:
    """What makes two defects one: another schedule may see the two sides of a race the other way round.

    Kernels do not count where a line is known: a template has as many as it has instantiations.
    """
    places = [defect, *([defect.other] if defect.other else [])]
    where = frozenset((p.file, p.line) if p.file else (defect.kernel, p.pc) for p in places)
    return defect.kind, defect.severity, where if places[0].file or places[0].pc else (defect.kernel, defect.text)


def _explains(cause: ProgramFault, effect: ProgramFault) -> bool:
    """Whether what was read too early or never written may be so because of another fault."""
    if effect.defect.kind != "uninitialized_read" or cause.defect.severity != "error":
        return False
    if cause.defect.kind in _NOT_RUN:
        return True
    same_kernel = cause.defect.kernel == effect.defect.kernel
    return cause.defect.kind in _RACES and same_kernel and bool(cause.lines() & effect.lines())


def _ordered(found: Sequence[ProgramFault]) -> Iterator[ProgramFault]:
    for severity in SEVERITIES:
        for root in (f for f in found if f.defect.severity == severity and f.cause is None):
            yield root
            yield from (f for f in found if f.cause is root and f.defect.severity == severity)
        yield from (
            f for f in found if f.defect.severity == severity and f.cause and f.cause.defect.severity != severity
        )
