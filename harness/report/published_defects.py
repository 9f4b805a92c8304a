"""Defects that published reviews name, checked against what ran; and failures that no published review names."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from harness.model import Challenge, Evidence, Outcome, PublishedDefect, Record, Severity
from harness.report import formatting
from harness.report.challenge_report import CriteriaGroup, grouped
from harness.review.defects import NOT_ASKED, OTHER_FAULT, DefectRuling, RuledDefect, out_of_sight


@dataclass(frozen=True)
class DefectRow:
    """A defect that a published review names, and what running says about it.

    Attributes:
        defect: as the review names it.
        provenance: where the submission's files come from.
        link: page and anchor of the submission; empty without a record.
        ruling: what running says.
        shown: pairs of a criterion that shows it and what that criterion saw.
        rest: criteria that passed, or what keeps them out of sight.
    """

    defect: PublishedDefect
    provenance: str
    link: str
    ruling: DefectRuling
    shown: tuple[tuple[str, str], ...]
    rest: tuple[CriteriaGroup, ...]

    @property
    def unseen(self) -> bool:
        """Whether running says nothing of it."""
        return self.ruling is DefectRuling.UNSEEN

    @property
    def severity(self) -> str:
        """How grave it was said to be."""
        return "not stated" if self.defect.severity is None else self.defect.severity.value


@dataclass(frozen=True)
class UnpublishedFailure:
    """A failed criterion that no published defect accounts for."""

    model: str
    challenge: str
    provenance: str
    link: str
    criterion: str
    severity: str
    outcome: str
    seen: str


def defect_row(held: RuledDefect, record: Record | None) -> DefectRow:
    """The view of a defect that was held to the record of its submission."""
    defect = held.defect
    confirmed = held.ruling is DefectRuling.CONFIRMED
    passed = [("passed", e.criterion) for e in held.by if not confirmed]
    return DefectRow(
        defect=defect,
        provenance=origin(record),
        link=link(defect.challenge, defect.model) if record else "",
        ruling=held.ruling,
        shown=tuple((e.criterion, _sight(e, record, defect.probe)) for e in held.by if confirmed),
        rest=grouped([*passed, *held.hidden]),
    )


def unpublished_failures(
    challenge: Challenge, record: Record, held: Iterable[RuledDefect]
) -> Iterator[UnpublishedFailure]:
    """Critical and major criteria of a submission that were not met, and that no confirmed defect accounts for.

    Args:
        challenge: the rubric.
        record: of the submission.
        held: its own defects.
    """
    criteria = {c.id: c for c in challenge.criteria}
    accounted = {e.criterion for t in held if t.ruling is DefectRuling.CONFIRMED for e in t.by}
    for e in record.marked:
        if e.outcome is Outcome.PASSED or e.severity is Severity.MINOR or e.criterion in accounted:
            continue
        if e.outcome is Outcome.NOT_OFFERED or out_of_sight(criteria.get(e.criterion), e, record.provenance):
            continue
        yield UnpublishedFailure(
            model=record.model,
            challenge=record.challenge,
            provenance=origin(record),
            link=link(record.challenge, record.model),
            criterion=e.criterion,
            severity=e.severity.value,
            outcome=formatting.outcome(e),
            seen=_sight(e, record),
        )


def shared_reason(held: RuledDefect) -> str:
    """Why a defect is out of sight, in words that several defects share."""
    reason, criterion = held.hidden[0]
    if not criterion:
        return NOT_ASKED
    return f"its criterion {reason}" if reason == OTHER_FAULT else reason


def origin(record: Record | None) -> str:
    """Where the files of a submission come from."""
    return "no record" if record is None else formatting.provenance(record.provenance)


def link(challenge: str, heading: str) -> str:
    """The page of a challenge at a heading."""
    return f"{challenge}.md#{formatting.anchor(heading)}"


def _sight(evidence: Evidence, record: Record | None, probe: str = "") -> str:
    """What a criterion that was not met saw, in a phrase, with the likeliest fault where there is one."""
    if evidence.outcome is Outcome.NOT_OFFERED:
        return "is not offered"
    if probe:
        return evidence.failed_probes.get(probe, evidence.seen)
    titles: Mapping[str, str] = {f.criterion: f.title for f in record.findings} if record else {}
    title = titles.get(evidence.criterion, evidence.detail.partition("\n")[0])
    return f"{title}; {evidence.diagnosis.words}" if evidence.diagnosis else title
