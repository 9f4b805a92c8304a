"""Criteria outside a published answer's original prompt: displayed, without marks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from harness.model import Challenge, Evidence, Outcome, Record
from harness.report import formatting


@dataclass(frozen=True)
class NotAsked:
    """A criterion outside the original prompt, with its outcome, the reason, and what the repaired copy showed."""

    criterion: str
    seen: str
    reason: str
    copy: str = ""


def asked(record: Record) -> list[Evidence]:
    """Return the evidence of a record on criteria in the original prompt."""
    beside = record.origin.not_asked if record.origin else {}
    return [e for e in record.evidence if e.criterion not in beside]


def list_not_asked(challenge: Challenge, record: Record) -> tuple[NotAsked, ...]:
    """Return a record's criteria outside the original prompt, without those of `not_asked_build`."""
    return tuple(one for one, builds in _iter_not_asked(challenge, record) if not builds)


def not_asked_build(challenge: Challenge, record: Record) -> tuple[NotAsked, ...]:
    """Return the criteria outside the original prompt that decide whether anything could be run."""
    copy = _copy_note(record) if record.build else ""
    return tuple(replace(one, copy=copy) for one, builds in _iter_not_asked(challenge, record) if builds)


def _iter_not_asked(challenge: Challenge, record: Record) -> Iterator[tuple[NotAsked, bool]]:
    why = record.origin.not_asked if record.origin else {}
    builds = {c.id for c in challenge.criteria if c.compiler == "compiles"}
    for e in record.evidence:
        if e.criterion in why:
            yield NotAsked(e.criterion, formatting.seen(e), why[e.criterion]), e.criterion in builds


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
    return f"The original prompt did not ask for that: {reason}. {_copy_note(record)}"


def _copy_note(record: Record) -> str:
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
