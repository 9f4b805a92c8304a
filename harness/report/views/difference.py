"""What got better or worse between two records, and between two boards."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from harness.model import Evidence, Record, Severity


class Change(StrEnum):
    """Kind of a change of one criterion."""

    WORSE = "worse"
    BETTER = "better"
    NOT_ASSESSED = "no longer assessed"
    ASSESSED = "newly assessed"


@dataclass(frozen=True)
class CriterionChange:
    """One criterion that changed.

    Attributes:
        before: None if that record lacks the criterion; the same for `after`.
    """

    criterion: str
    severity: Severity
    change: Change
    before: Evidence | None
    after: Evidence | None


@dataclass(frozen=True)
class RecordDifference:
    """Two records of one challenge, in order of time."""

    before: Record
    after: Record

    @cached_property
    def changes(self) -> tuple[CriterionChange, ...]:
        """Changed criteria: the worse ones first, then by severity and rubric."""
        order = list(Change)
        found = sorted(
            _find_changes(self.before, self.after), key=lambda c: (order.index(c.change), -c.severity.weight)
        )
        return tuple(found)

    @property
    def worse(self) -> bool:
        """True if a criterion got worse."""
        return any(one.change is Change.WORSE for one in self.changes)

    @property
    def changed(self) -> bool:
        """True if a criterion or the overall mark changed."""
        return bool(self.changes) or self.before.overall != self.after.overall

    @property
    def unlike(self) -> Mapping[str, tuple[str, str]]:
        """Conditions that differ, by name: changes may be theirs, not the submission's."""
        pairs = {
            "version of the challenge": ((self.before.probe_set or "")[:12], (self.after.probe_set or "")[:12]),
            "profile": (self.before.profile.value, self.after.profile.value),
            "harness": (self.before.environment.harness, self.after.environment.harness),
            "device": (self.before.environment.device, self.after.environment.device),
            "isolation": (self.before.environment.tier.value, self.after.environment.tier.value),
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1] and all(pair)}


@dataclass(frozen=True)
class BoardDifference:
    """Two boards, in order of time.

    Attributes:
        changed: differences of submissions that both have, without those that changed in nothing.
        same: number of these others.
        gone: names of records that only the first has.
        added: names of records that only the second has.
    """

    changed: tuple[RecordDifference, ...]
    same: int = 0
    gone: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def worse(self) -> bool:
        """True if a criterion of any record got worse."""
        return any(one.worse for one in self.changed)


def compare_boards(before: Mapping[str, Record], after: Mapping[str, Record]) -> BoardDifference:
    """Compare the records of two boards, by the names of their submissions."""
    pairs = [RecordDifference(record, after[name]) for name, record in before.items() if name in after]
    changed = tuple(pair for pair in pairs if pair.changed)
    return BoardDifference(
        changed,
        len(pairs) - len(changed),
        tuple(name for name in before if name not in after),
        tuple(name for name in after if name not in before),
    )


def _find_changes(before: Record, after: Record) -> Iterator[CriterionChange]:
    first, second = ({e.criterion: e for e in record.evidence} for record in (before, after))
    for criterion in dict.fromkeys([*second, *first]):
        one, other = first.get(criterion), second.get(criterion)
        was, now = _get_share(before, one), _get_share(after, other)
        if was == now:
            continue
        if was is None or now is None:
            change = Change.ASSESSED if was is None else Change.NOT_ASSESSED
        else:
            change = Change.WORSE if now < was else Change.BETTER
        known = other or one
        assert known is not None
        yield CriterionChange(criterion, known.severity, change, one, other)


def _get_share(record: Record, evidence: Evidence | None) -> float | None:
    if evidence is None or not evidence.outcome.assessed or evidence.criterion in record.unmarked:
        return None
    return evidence.satisfied
