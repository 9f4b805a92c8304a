"""Criteria without credit: those that a failed build or anchor takes it from, or that cannot be told apart."""

from dataclasses import dataclass

from harness.model import Challenge, Outcome, Record
from harness.report import formatting


@dataclass(frozen=True)
class Uncredited:
    """Criteria without credit while `cause` fails, and their own outcome (`how`)."""

    how: str
    cause: str
    criteria: tuple[str, ...]


def uncredited(record: Record) -> tuple[Uncredited, ...]:
    """Group the criteria without credit by their outcome and the failing criterion."""
    groups: dict[tuple[str, str], list[str]] = {}
    for item in record.marked:
        if item.rests_on:
            groups.setdefault((formatting.uncredited(item), item.rests_on), []).append(item.criterion)
    return tuple(Uncredited(how, cause, tuple(criteria)) for (how, cause), criteria in groups.items())


def anchor_note(challenge: Challenge, record: Record) -> str:
    """Say that the anchor takes the credit of what ran; empty if it does not."""
    lost = [e for e in record.marked if e.rests_on == challenge.anchor and e.outcome is Outcome.FAILED]
    if not lost:
        return ""
    rest = "the other criteria judged by running earn nothing; what each of them showed is listed all the same"
    return f"`{challenge.anchor}` fails, so {rest}."
