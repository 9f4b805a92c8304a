"""Criteria outside a published answer's original prompt: displayed, without marks."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model import Evidence, Outcome, Record
from harness.report import formatting


@dataclass(frozen=True)
class NotAsked:
    """A criterion outside the original prompt, with its outcome and the reason."""

    criterion: str
    seen: str
    reason: str


def asked(record: Record) -> list[Evidence]:
    """Return the evidence of a record on criteria in the original prompt."""
    beside = record.origin.not_asked if record.origin else {}
    return [e for e in record.evidence if e.criterion not in beside]


def not_asked(record: Record) -> tuple[NotAsked, ...]:
    """Return a record's criteria outside the original prompt."""
    why = record.origin.not_asked if record.origin else {}
    return tuple(
        NotAsked(e.criterion, formatting.seen(e), why[e.criterion]) for e in record.evidence if e.criterion in why
    )


def contradictions(record: Record, criteria: Iterable[str]) -> tuple[str, ...]:
    """Return the original prompt's contrary requests about these criteria."""
    why = record.origin.contradicted if record.origin else {}
    return tuple(dict.fromkeys(why[id] for id in criteria if id in why))


def build_note(record: Record) -> str:
    """Say that the prompt did not ask for a build that failed, and how the repaired copy did; else empty."""
    why = record.origin.not_asked if record.origin else {}
    reason = next((why[id] for id in record.build.criteria if id in why), "") if record.build else ""
    if not reason:
        return ""
    copy = record.repaired
    if copy is None:
        return f"The original prompt did not ask for that: {reason}. No repaired copy was graded."
    marked = [e for e in copy.evidence if e.criterion not in record.unmarked]
    held = sum(e.outcome is Outcome.PASSED for e in marked)
    unmet = [e.criterion for e in marked if e.faulty]
    judged = sum(e.outcome.ran for e in marked)
    but = f"; not met, or only in part: {', '.join(unmet)}" if unmet else ""
    verdict = f"meets {held} of the {judged} criteria that were judged{but}"
    shown = f"could not be judged: {copy.detail}" if copy.detail else verdict
    return f"The original prompt did not ask for that: {reason}. A repaired copy, not in the marks, {shown}."
