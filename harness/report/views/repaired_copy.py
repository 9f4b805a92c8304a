"""Results of the repaired copy, each fault once."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.model import Finding, Outcome, Record, RepairedGrade

HEADING = "Behind the build failure (a repaired copy, not in the marks)"


@dataclass(frozen=True)
class RepairedFault:
    """A fault of the copy, and the criteria that show it."""

    title: str
    weight: str
    criteria: tuple[str, ...]
    seen: str
    diagnosis: str


@dataclass(frozen=True)
class RepairedCopyReport:
    """The repairs, and the results of the copy.

    Attributes:
        repairs: sentences, in order.
        not_run: reason if no probe ran, or empty.
        faults: gravest first.
        held, unassessed: ids of criteria.
    """

    heading: str
    repairs: tuple[str, ...]
    not_run: str
    faults: tuple[RepairedFault, ...]
    held: tuple[str, ...]
    unassessed: tuple[str, ...]


def repaired_copy_report(record: Record) -> RepairedCopyReport | None:
    """Build the report of a record's repaired copy, if any."""
    grade = record.repaired
    if grade is None:
        return None
    return RepairedCopyReport(
        heading=HEADING,
        repairs=tuple(f"{repair.kind.fault}: {repair.words}" for repair in grade.repairs),
        not_run=grade.detail,
        faults=_faults(grade),
        held=tuple(e.criterion for e in grade.evidence if e.outcome is Outcome.PASSED),
        unassessed=tuple(e.criterion for e in grade.evidence if not e.outcome.assessed),
    )


def _faults(grade: RepairedGrade) -> tuple[RepairedFault, ...]:
    merged: dict[str, RepairedFault] = {}
    for finding in grade.findings:
        for title, seen, diagnosis in _observed(finding):
            known = merged.get(title)
            if known is None:
                weight = finding.severity.value
                merged[title] = RepairedFault(title, weight, (finding.criterion,), seen, diagnosis)
            elif finding.criterion not in known.criteria:
                criteria = (*known.criteria, finding.criterion)
                words = known.diagnosis or diagnosis
                merged[title] = RepairedFault(title, known.weight, criteria, known.seen, words)
    return tuple(merged.values())


def _observed(finding: Finding) -> Iterator[tuple[str, str, str]]:
    yield finding.title, finding.detail, finding.diagnosis or ""
    yield from ((other.title, other.detail, "") for other in finding.also)


def labelled_lines(report: RepairedCopyReport) -> Iterator[tuple[str, str]]:
    """Yield label and text of everything but the faults."""
    for number, repair in enumerate(report.repairs):
        yield "Then repaired" if number else "Repaired", repair
    if report.not_run:
        yield "Nothing of it ran", report.not_run
    if report.held:
        yield "Holds", ", ".join(report.held)
    if report.unassessed:
        yield "Not assessed", ", ".join(report.unassessed)


def fault_lines(fault: RepairedFault) -> Iterator[tuple[str, str]]:
    """Yield label and text of a fault's details."""
    if fault.seen:
        yield "Seen", "; ".join(line.strip() for line in fault.seen.splitlines())
    if fault.diagnosis:
        yield "Likeliest fault", fault.diagnosis
