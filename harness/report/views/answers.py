"""A model's answer to a challenge: one record, or those of several attempts."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from harness.model import Provenance, Record, Status
from harness.scoring.attempts import Attempts, by_answer
from harness.scoring.marked import Marked
from harness.scoring.record_summary import RecordSummary


@dataclass(frozen=True)
class ModelAnswer:
    """One model's answer to one challenge.

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
    def marked(self) -> Attempts | Record:
        """Source of the marks: all attempts together, or the single answer."""
        return self.attempts or self.shown

    @property
    def model(self) -> str:
        """Id of the model."""
        return self.shown.model

    @property
    def challenge(self) -> str:
        """Id of the challenge."""
        return self.shown.challenge


def answers(records: Iterable[Record]) -> tuple[ModelAnswer, ...]:
    """Group records by challenge and model, in order of first appearance."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.challenge, record.model), []).append(record)
    return tuple(ModelAnswer(tuple(sorted(own, key=lambda r: r.attempt or 0))) for own in groups.values())


def in_order(answers: Iterable[ModelAnswer]) -> list[ModelAnswer]:
    """Sort by `place`."""
    return sorted(answers, key=lambda answer: place(answer.marked))


def place(marked: Marked) -> tuple[bool, bool, float, str]:
    """Return a key that sorts by overall, missing ones last, then by name; several turns follow, then baselines."""
    point, baseline = marked.overall.score, marked.provenance is Provenance.BASELINE
    return baseline, marked.turns > 1, 1.0 if point is None else -point, marked.model
