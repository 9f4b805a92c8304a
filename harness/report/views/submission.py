"""What a record shows of one submission, beside its findings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from harness.model import Challenge, Evidence, Outcome, Record, Severity
from harness.report import formatting

Reason = TypeVar("Reason")
COPY = "Behind the build failure (a repaired copy, not in the marks)"
"""Heading of what the repaired copy showed."""


@dataclass(frozen=True)
class NotAsked:
    """A criterion outside the original prompt: its outcome, why, and whether it decides the build."""

    criterion: str
    seen: str
    reason: str
    builds: bool = False


@dataclass(frozen=True)
class RepairedFault:
    """A fault of the repaired copy, and the criteria that show it."""

    title: str
    weight: str
    criteria: tuple[str, ...]
    seen: str
    diagnosis: str


def grouped(pairs: Iterable[tuple[Reason, str]]) -> Mapping[Reason, tuple[str, ...]]:
    """Group pairs of reason and criterion, or another name, by reason."""
    by_reason: dict[Reason, list[str]] = {}
    for reason, criterion in pairs:
        by_reason.setdefault(reason, []).append(criterion)
    return {reason: tuple(criteria) for reason, criteria in by_reason.items()}


def critical_met(record: Record) -> tuple[int, int]:
    """Return how many critical criteria are met, and how many were assessed."""
    critical = [e for e in record.marked if e.severity is Severity.CRITICAL and e.outcome.assessed]
    return sum(e.outcome is Outcome.PASSED for e in critical), len(critical)


def asked(record: Record) -> list[Evidence]:
    """Return the evidence of a record on criteria in the original prompt."""
    beside = record.origin.not_asked if record.origin else {}
    return [e for e in record.evidence if e.criterion not in beside]


def without_credit(record: Record) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield why criteria earn nothing, with the criteria."""
    not_offered = tuple(e.criterion for e in record.marked if e.outcome is Outcome.NOT_OFFERED)
    if not_offered:
        yield "Not offered, so nothing earned", not_offered
    lost = ((f"{formatting.uncredited(e)} while `{e.rests_on}` fails", e) for e in record.marked if e.rests_on)
    yield from grouped((why, e.criterion) for why, e in lost if e.outcome.assessed).items()


def not_assessed(challenge: Challenge, record: Record, briefly: bool = False) -> Mapping[str, tuple[str, ...]]:
    """Return the criteria that are open, by reason.

    Args:
        briefly: true to only name the fault that hides a criterion, and leave out those not charged to the submission.
    """
    rubric = {c.id: c for c in challenge.criteria}
    unseen = (e for e in (record.marked if briefly else asked(record)) if not e.outcome.assessed)

    def why(e: Evidence) -> str:
        if briefly and e.rests_on:
            return f"not told apart while `{e.rests_on}` fails"
        return formatting.unassessed(rubric.get(e.criterion), e)

    return grouped((why(e), e.criterion) for e in unseen)


def gates(challenge: Challenge, record: Record) -> Iterator[str]:
    """Yield the ceilings of each reason."""
    titles = {d.id: d.title for d in challenge.dimensions}
    named = (
        ("Overall" if gate.dimension is None else titles.get(gate.dimension, gate.dimension), gate)
        for gate in record.gates
    )
    by_reason = grouped((gate.reason, f"{target} at most {formatting.ceiling(gate)}") for target, gate in named)
    yield from (f"{', '.join(capped)}: {reason}" for reason, capped in by_reason.items())


def anchor_note(challenge: Challenge, record: Record) -> str:
    """Say that the anchor takes the credit of what ran; empty if it does not."""
    if not any(e.rests_on == challenge.anchor and e.outcome is Outcome.FAILED for e in record.marked):
        return ""
    rest = "the other criteria judged by running earn nothing; what each of them showed is listed all the same"
    return f"`{challenge.anchor}` fails, so {rest}."


def list_not_asked(challenge: Challenge, record: Record) -> tuple[NotAsked, ...]:
    """Return a record's criteria outside the original prompt."""
    why = record.origin.not_asked if record.origin else {}
    builds = {c.id for c in challenge.criteria if c.compiler == "compiles"}
    return tuple(
        NotAsked(e.criterion, formatting.seen(e), why[e.criterion], e.criterion in builds)
        for e in record.evidence
        if e.criterion in why
    )


def build_note(record: Record) -> str:
    """Say that the prompt did not ask for a build that failed, and how the repaired copy did; else empty."""
    why = record.origin.not_asked if record.origin else {}
    reason = next((why[id] for id in record.build.criteria if id in why), "") if record.build else ""
    return f"The original prompt did not ask for that: {reason}. {copy_note(record)}" if reason else ""


def copy_note(record: Record) -> str:
    """Say how the repaired copy did."""
    copy = record.repaired
    if copy is None:
        return "No repaired copy was graded."
    marked = [e for e in copy.evidence if e.criterion not in record.unmarked]
    held = sum(e.outcome is Outcome.PASSED for e in marked)
    unmet = [e.criterion for e in marked if e.faulty]
    judged = sum(e.outcome.ran for e in marked)
    but = f"; not met, or only in part: {', '.join(unmet)}" if unmet else ""
    verdict = f"meets {held} of the {judged} criteria that were judged{but}"
    shown = f"could not be judged: {copy.detail}" if copy.detail else verdict
    return f"A repaired copy, not in the marks, {shown}."


def repaired_faults(record: Record) -> tuple[RepairedFault, ...]:
    """Return the faults of the repaired copy, each once, gravest first."""
    merged: dict[str, RepairedFault] = {}
    for finding in record.repaired.findings if record.repaired else ():
        first = (finding.title, finding.detail, finding.diagnosis or "")
        for title, seen, diagnosis in (first, *((other.title, other.detail, "") for other in finding.also)):
            known = merged.get(title) or RepairedFault(title, finding.severity.value, (), seen, "")
            criteria = tuple(dict.fromkeys((*known.criteria, finding.criterion)))
            merged[title] = RepairedFault(title, known.weight, criteria, known.seen, known.diagnosis or diagnosis)
    return tuple(merged.values())
