"""A model's answer to a challenge: one record, or those of several attempts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from harness.model import Provenance, Record, Score, Status
from harness.scoring.attempts import Attempts, by_answer
from harness.scoring.marked import Marked
from harness.scoring.record_summary import RecordSummary

AnyMarked = TypeVar("AnyMarked", bound=Marked)


@dataclass(frozen=True)
class ModelAnswer:
    """One model's answer to one challenge; implements `Marked`.

    Attributes:
        records: sorted by attempt number.
    """

    records: tuple[Record, ...]

    @cached_property
    def attempts(self) -> Attempts | None:
        """Attempts taken together; None for a single answer."""
        if self.records[0].attempt is None:
            return None
        (found,) = by_answer(map(RecordSummary.of, self.records))
        return found if isinstance(found, Attempts) else None

    @cached_property
    def shown(self) -> Record:
        """Record that stands for the answer: the median attempt by mark, the lower of two.

        Attempts without a mark count only if none has one.
        """
        marked = [r for r in self.records if r.overall.score is not None and r.status is not Status.JUDGE_ERROR]
        ordered = sorted(marked or self.records, key=lambda r: (r.overall.score or 0.0, r.attempt or 0))
        return ordered[(len(ordered) - 1) // 2]

    @property
    def _marked(self) -> Marked:
        return self.attempts or self.shown

    @property
    def model(self) -> str:
        """Id of the model."""
        return self.shown.model

    @property
    def challenge(self) -> str:
        """Id of the challenge."""
        return self.shown.challenge

    @property
    def provenance(self) -> Provenance:
        """Provenance of the files."""
        return self._marked.provenance

    @property
    def status(self) -> Status:
        """Status of the grade; the best of several."""
        return self._marked.status

    @property
    def ranked(self) -> bool:
        """True if the marks count in ranks."""
        return self._marked.ranked

    @property
    def turns(self) -> int:
        """Number of replies that the model was allowed."""
        return self._marked.turns

    @property
    def overall(self) -> Score:
        """Overall mark."""
        return self._marked.overall

    @property
    def dimensions(self) -> Mapping[str, Score]:
        """Marks by dimension id."""
        return self._marked.dimensions


def answers(records: Iterable[Record]) -> tuple[ModelAnswer, ...]:
    """Group records by challenge and model, in order of first appearance."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.challenge, record.model), []).append(record)
    return tuple(ModelAnswer(tuple(sorted(own, key=lambda r: r.attempt or 0))) for own in groups.values())


def in_order(marked: Iterable[AnyMarked]) -> list[AnyMarked]:
    """Sort by overall, missing ones last, then by name; several turns follow, then baselines."""

    def place(one: AnyMarked) -> tuple[bool, bool, float, str]:
        point = one.overall.score
        baseline = one.provenance is Provenance.BASELINE
        return baseline, one.turns > 1, 1.0 if point is None else -point, one.model

    return sorted(marked, key=place)
