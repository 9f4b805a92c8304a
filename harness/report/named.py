"""Defects that published reviews named beside what ran, and what ran beside the defects they named."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from harness.model import Challenge, Defect, Evidence, Outcome, Record, Severity
from harness.report import words
from harness.report.contexts import Group, grouped
from harness.review.defects import NOT_ASKED, OTHER_FAULT, Ruling, Tried, out_of_sight


@dataclass(frozen=True)
class Named:
    """A defect that was named, and what running says of it.

    Attributes:
        defect: as it was named.
        provenance: where the submission's files come from.
        link: page and anchor of the submission; empty without a record.
        ruling: what running says.
        shown: pairs of a criterion that shows it and what that criterion saw.
        rest: criteria that passed, or what keeps them out of sight.
    """

    defect: Defect
    provenance: str
    link: str
    ruling: Ruling
    shown: tuple[tuple[str, str], ...]
    rest: tuple[Group, ...]

    @property
    def unseen(self) -> bool:
        """Whether running says nothing of it."""
        return self.ruling is Ruling.UNSEEN

    @property
    def severity(self) -> str:
        """How grave it was said to be."""
        return "not stated" if self.defect.severity is None else self.defect.severity.value


@dataclass(frozen=True)
class Unnamed:
    """A failed criterion that no named defect accounts for."""

    model: str
    challenge: str
    provenance: str
    link: str
    criterion: str
    severity: str
    outcome: str
    seen: str


def named(held: Tried, record: Record | None) -> Named:
    """The view of a defect that was held to the record of its submission."""
    defect = held.defect
    confirmed = held.ruling is Ruling.CONFIRMED
    passed = [("passed", e.criterion) for e in held.by if not confirmed]
    return Named(
        defect=defect,
        provenance=origin(record),
        link=link(defect.challenge, defect.model) if record else "",
        ruling=held.ruling,
        shown=tuple((e.criterion, _sight(e, record, defect.shows)) for e in held.by if confirmed),
        rest=grouped([*passed, *held.hidden]),
    )


def unnamed(challenge: Challenge, record: Record, held: Iterable[Tried]) -> Iterator[Unnamed]:
    """Critical and major criteria of a submission that were not met, and that no confirmed defect accounts for.

    Args:
        challenge: the rubric.
        record: of the submission.
        held: its own defects.
    """
    criteria = {c.id: c for c in challenge.criteria}
    accounted = {e.criterion for t in held if t.ruling is Ruling.CONFIRMED for e in t.by}
    for e in record.evidence:
        if e.outcome is Outcome.PASSED or e.severity is Severity.MINOR or e.criterion in accounted:
            continue
        if words.not_offered(e) or out_of_sight(criteria.get(e.criterion), e, record.provenance):
            continue
        yield Unnamed(
            model=record.model, challenge=record.challenge, provenance=origin(record),
            link=link(record.challenge, record.model), criterion=e.criterion, severity=e.severity.value,
            outcome=words.outcome(e), seen=_sight(e, record),
        )  # fmt: skip


def shared_reason(held: Tried) -> str:
    """Why a defect is out of sight, in words that several defects share."""
    reason, criterion = held.hidden[0]
    if not criterion:
        return NOT_ASKED
    return f"its criterion {reason}" if reason == OTHER_FAULT else reason


def origin(record: Record | None) -> str:
    """Where the files of a submission come from."""
    return "no record" if record is None else words.provenance(record.provenance)


def link(challenge: str, heading: str) -> str:
    """The page of a challenge at a heading."""
    return f"{challenge}.md#{words.anchor(heading)}"


def _sight(evidence: Evidence, record: Record | None, shows: str = "") -> str:
    """What a criterion that was not met saw, in a phrase, with the likeliest fault where there is one."""
    if shows:
        told = (evidence.detail, *evidence.also)
        return next((text for text in told if shows.casefold() in text.casefold()), evidence.detail)
    titles: Mapping[str, str] = {f.criterion: f.title for f in record.findings} if record else {}
    title = titles.get(evidence.criterion, evidence.detail.partition("\n")[0])
    return f"{title}; {evidence.diagnosis}" if evidence.diagnosis else title
