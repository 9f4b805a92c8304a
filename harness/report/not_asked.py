"""What the original prompt of a published answer did not ask for: seen, shown beside, in no mark."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model import Evidence, Outcome, Record
from harness.report import formatting


@dataclass(frozen=True)
class NotAsked:
    """A criterion that the original prompt did not ask for: what was seen, and why it was not asked."""

    criterion: str
    seen: str
    reason: str


def asked(record: Record) -> list[Evidence]:
    """Return the evidence of a record but for what the original prompt did not ask for."""
    beside = record.origin.not_asked if record.origin else {}
    return [e for e in record.evidence if e.criterion not in beside]


def not_asked(record: Record) -> tuple[NotAsked, ...]:
    """Return the criteria of a record that the original prompt did not ask for."""
    why = record.origin.not_asked if record.origin else {}
    return tuple(
        NotAsked(e.criterion, formatting.seen(e), why[e.criterion]) for e in record.evidence if e.criterion in why
    )


def contradictions(record: Record, criteria: Iterable[str]) -> tuple[str, ...]:
    """Return how the original prompt asked for the contrary of these criteria as well, each sentence once."""
    why = record.origin.contradicted if record.origin else {}
    return tuple(dict.fromkeys(why[id] for id in criteria if id in why))


def build_note(record: Record) -> str:
    """Say that a submission that does not build was not asked to, and what its repaired copy shows; else nothing."""
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
