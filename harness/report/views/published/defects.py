"""Published defects checked against records, and failures that no published review names."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from harness.model import Challenge, Evidence, Outcome, PublishedDefect, Record, Severity
from harness.report import formatting
from harness.report.views.submission import grouped
from harness.review.defects import NOT_ASKED, OTHER_FAULT, DefectRuling, RuledDefect, out_of_sight


@dataclass(frozen=True)
class DefectRow:
    """A published defect and its ruling.

    Attributes:
        page: page of the submission; empty without a record.
        heading: its heading there.
        shown: criteria that confirm it, each with its observation.
        rest: criteria that passed, or that could not reveal it, by reason.
    """

    defect: PublishedDefect
    provenance: str
    page: str
    heading: str
    ruling: DefectRuling
    shown: tuple[tuple[str, str], ...]
    rest: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class UnpublishedFailure:
    """A failed criterion that no published defect explains."""

    record: Record
    evidence: Evidence
    seen: str


def defect_row(held: RuledDefect, record: Record | None) -> DefectRow:
    """Build the row of a ruled defect."""
    defect = held.defect
    confirmed = held.ruling is DefectRuling.CONFIRMED
    passed = [("passed", e.criterion) for e in held.by if not confirmed]
    return DefectRow(
        defect=defect,
        provenance=origin(record),
        page=f"{defect.challenge}.md" if record else "",
        heading=defect.model,
        ruling=held.ruling,
        shown=tuple((e.criterion, _sight(e, record, defect.probe)) for e in held.by if confirmed),
        rest=grouped([*passed, *held.hidden]),
    )


def unpublished_failures(
    challenge: Challenge, record: Record, held: Iterable[RuledDefect]
) -> Iterator[UnpublishedFailure]:
    """Yield failed critical and major criteria of a submission that no confirmed defect explains.

    Args:
        held: the submission's own defects.
    """
    criteria = {c.id: c for c in challenge.criteria}
    accounted = {e.criterion for t in held if t.ruling is DefectRuling.CONFIRMED for e in t.by}
    for e in record.marked:
        if e.outcome is Outcome.PASSED or e.severity is Severity.MINOR or e.criterion in accounted:
            continue
        if e.outcome is Outcome.NOT_OFFERED or out_of_sight(criteria.get(e.criterion), e, record.provenance):
            continue
        yield UnpublishedFailure(record, e, _sight(e, record))


def shared_reason(held: RuledDefect) -> str:
    """Return why a defect is undecided, in words that several defects share."""
    reason, criterion = held.hidden[0]
    if not criterion:
        return NOT_ASKED
    return f"its criterion {reason}" if reason == OTHER_FAULT else reason


def origin(record: Record | None) -> str:
    """Format the provenance of a submission's files."""
    return "no record" if record is None else formatting.provenance(record.provenance)


def _sight(evidence: Evidence, record: Record | None, probe: str = "") -> str:
    if evidence.outcome is Outcome.NOT_OFFERED:
        return "is not offered"
    if probe:
        return evidence.failed_probes.get(probe, evidence.seen)
    titles: Mapping[str, str] = {f.criterion: f.title for f in record.findings} if record else {}
    title = titles.get(evidence.criterion, evidence.detail.partition("\n")[0])
    return f"{title}; {evidence.diagnosis.words}" if evidence.diagnosis else title
