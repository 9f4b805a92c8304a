"""Duels: two submissions to one challenge compared on what both were assessed on."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from harness.model import Challenge, Provenance, Record, Status
from harness.numerics.rounding import exact, half_up
from harness.scoring.gates import ceilings
from harness.scoring.marks import credited, weighted_mean
from harness.scoring.record_summary import CriterionResult, RecordSummary


class HeadToHead(Protocol):
    """Who won between two models on one challenge. A `Duel` is one, and so is a published `Comparison`."""

    @property
    def challenge(self) -> str:
        """On what."""

    @property
    def left(self) -> str:
        """A model."""

    @property
    def right(self) -> str:
        """Another."""

    @property
    def played(self) -> bool:
        """Whether there was anything to compare."""

    @property
    def winner(self) -> str | None:
        """Who won; None for a split."""


NOISE = 2.0
"""A lead up to so many points is a split where both marks were measured."""
REVIEW_NOISE = 6.0
"""The same where the difference rests on reviews: one judge gave the same files marks so far apart."""


@dataclass(frozen=True)
class Duel:
    """Two marks on the same criteria of one challenge.

    Attributes:
        challenge: id.
        left, right: models.
        left_mark, right_mark: in whole points; None where nothing was assessed on both.
        criteria: how many both were assessed on.
        noise: a lead up to this is a split.
    """

    challenge: str
    left: str
    right: str
    left_mark: float | None
    right_mark: float | None
    criteria: int
    noise: float = NOISE

    @property
    def played(self) -> bool:
        """Whether there is anything to compare."""
        return self.left_mark is not None and self.right_mark is not None

    @property
    def lead(self) -> float:
        """Points of the left one over the right one."""
        return (self.left_mark or 0.0) - (self.right_mark or 0.0)

    @cached_property
    def winner(self) -> str | None:
        """Who leads by more than the noise; None for a split, and where nothing was played."""
        if not self.played or abs(self.lead) <= self.noise:
            return None
        return self.left if self.lead > 0 else self.right


@dataclass(frozen=True)
class RoundRobin:
    """Every two models on one challenge.

    Attributes:
        challenge: id.
        models: their names, sorted.
        marks: (models, models) int16, the whole points of the row's model on what it and the column's were both
            assessed on; -1 where that is nothing.
        criteria: (models, models) int16, how many criteria that is.
    """

    challenge: str
    models: tuple[str, ...]
    marks: NDArray[np.int16]
    criteria: NDArray[np.int16]

    @classmethod
    def of_bytes(cls, challenge: str, models: Sequence[str], text: bytes) -> Self:
        """What `to_bytes` wrote of these models."""
        shape = (2, len(models), len(models))
        marks, criteria = np.frombuffer(text, np.int16).reshape(shape)
        return cls(challenge, tuple(models), marks, criteria)

    def to_bytes(self) -> bytes:
        """The marks and the criteria."""
        return self.marks.tobytes() + self.criteria.tobytes()

    def duels(self) -> Iterator[Duel]:
        """Each pair once, by the models' names."""
        marks = [[None if mark < 0 else float(mark) for mark in row] for row in self.marks.tolist()]
        criteria = self.criteria.tolist()
        for i, j in combinations(range(len(self.models)), 2):
            yield Duel(self.challenge, self.models[i], self.models[j], marks[i][j], marks[j][i], criteria[i][j])

    def wins(self) -> NDArray[np.float64]:
        """(models, models): 1 where the row's model beat the column's, half for a split, 0 where nothing was played."""
        lead = self.marks - self.marks.T
        shares = np.where(np.abs(lead) <= NOISE, 0.5, (lead > 0).astype(float))
        played = (self.marks >= 0) & (self.marks.T >= 0) & ~np.eye(len(self.models), dtype=bool)
        return np.where(played, shares, 0.0)


class Duels(Sequence[Duel]):
    """Every two models on every challenge, by challenge and then by the models' names; made once asked for."""

    def __init__(self, rounds: Iterable[RoundRobin] = ()) -> None:
        self._rounds = tuple(rounds)

    @cached_property
    def _all(self) -> tuple[Duel, ...]:
        return tuple(duel for each in self._rounds for duel in each.duels())

    def __len__(self) -> int:
        return sum(math.comb(len(each.models), 2) for each in self._rounds)

    @overload
    def __getitem__(self, place: int) -> Duel: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Duel, ...]: ...
    def __getitem__(self, place: int | slice) -> Duel | tuple[Duel, ...]:
        return self._all[place]

    def __iter__(self) -> Iterator[Duel]:
        return iter(self._all)

    def wins(self, models: Sequence[str]) -> NDArray[np.float64]:
        """The same as `win_table`, without making a duel."""
        place = {model: number for number, model in enumerate(models)}
        wins = np.zeros((len(models), len(models)))
        for each in self._rounds:
            known = [number for number, model in enumerate(each.models) if model in place]
            at = [place[each.models[number]] for number in known]
            wins[np.ix_(at, at)] += each.wins()[np.ix_(known, known)]
        return wins


def duel(challenge: Challenge, left: Record, right: Record) -> Duel:
    """Compare two records of one challenge, each marked again on the criteria that both were assessed on.

    Gates apply as far as the criteria behind them are among these; a submission that does not build keeps its own.
    """
    one, other = (_AssessedRecord(challenge, RecordSummary.of(record)) for record in (left, right))
    common = one.criteria & other.criteria
    return Duel(challenge.id, left.model, right.model, one.mark(common), other.mark(common), len(common))


def round_robin(challenge: Challenge, ordered: Sequence[RecordSummary]) -> RoundRobin:
    """Every two of these records of one challenge; those assessed on the same criteria are marked together.

    Args:
        challenge: the rubric.
        ordered: the records, sorted by model.
    """
    assessed = [_AssessedRecord(challenge, summary) for summary in ordered]
    alike: dict[frozenset[str], list[int]] = {}
    for number, each in enumerate(assessed):
        alike.setdefault(each.criteria, []).append(number)
    marks = np.empty((len(ordered), len(ordered)), np.int16)
    criteria = np.empty_like(marks)
    for number, each in enumerate(assessed):
        for others, places in alike.items():
            common = each.criteria & others
            mark = each.mark(common)
            marks[number, places] = -1 if mark is None else mark
            criteria[number, places] = len(common)
    return RoundRobin(challenge.id, tuple(s.model for s in ordered), marks, criteria)


def duels(
    challenges: Iterable[Challenge],
    summaries: Iterable[RecordSummary],
    play: Callable[[Challenge, Sequence[RecordSummary]], RoundRobin] = round_robin,
) -> Duels:
    """Every pair of models on every challenge both have a grade on; baselines fight none.

    Args:
        challenges: the rubrics, in any order.
        summaries: of records, in any order; those of other challenges are passed over.
        play: makes the round of one challenge.
    """
    by_challenge: dict[str, list[RecordSummary]] = {}
    for summary in sorted(summaries, key=lambda s: s.model):
        if summary.status is not Status.JUDGE_ERROR and summary.provenance is not Provenance.BASELINE:
            by_challenge.setdefault(summary.challenge, []).append(summary)
    rubrics = sorted((c for c in challenges if c.id in by_challenge), key=lambda c: c.id)
    return Duels(play(rubric, by_challenge[rubric.id]) for rubric in rubrics)


def win_table(models: Sequence[str], head_to_heads: Iterable[HeadToHead]) -> NDArray[np.float64]:
    """(models, models): times the one of the row beat the one of the column, half for each side of a split."""
    if isinstance(head_to_heads, Duels):
        return head_to_heads.wins(models)
    place = {model: number for number, model in enumerate(models)}
    wins = np.zeros((len(models), len(models)))
    for one in head_to_heads:
        if one.played and one.left in place and one.right in place:
            left, right = place[one.left], place[one.right]
            share = 0.5 if one.winner is None else float(one.winner == one.left)
            wins[left, right] += share
            wins[right, left] += 1.0 - share
    return wins


def tally(left: str, right: str, results: Iterable[HeadToHead]) -> tuple[float, float]:
    """Challenges won by the left and the right model; a split is half for each."""
    played = [f for f in results if f.played]
    halves = 0.5 * sum(f.winner is None for f in played)
    return (
        sum(f.winner == left for f in played) + halves,
        sum(f.winner == right for f in played) + halves,
    )


class _AssessedRecord:
    """What a record assessed, laid out for marking parts of it.

    Attributes:
        criteria: ids.
    """

    def __init__(self, challenge: Challenge, summary: RecordSummary) -> None:
        self._weights: Mapping[str, Fraction] = {d.id: exact(d.weight) for d in challenge.dimensions}
        self._built = summary.status is not Status.BUILD_FAILED
        self._results: dict[str, list[tuple[CriterionResult, Fraction | int]]] = {}
        self._marks: dict[frozenset[str], float | None] = {}
        for result in summary.results:
            if result.satisfied is not None:
                credit = credited(result.satisfied, result.weight)
                self._results.setdefault(result.dimension, []).append((result, credit))
        self.criteria = frozenset(result.criterion for own in self._results.values() for result, _ in own)

    def mark(self, common: frozenset[str]) -> float | None:
        """In whole points, on these of its criteria; None where there are none."""
        if common not in self._marks:
            self._marks[common] = self._mark(common)
        return self._marks[common]

    def _mark(self, common: frozenset[str]) -> float | None:
        results = {
            id: [(result, credit) for result, credit in own if result.criterion in common]
            for id, own in self._results.items()
        }
        failed = [id for id, own in results.items() for result, _ in own if result.gates]
        tops = ceilings(failed, built=self._built)
        points: dict[str, Fraction] = {}
        for id, own in results.items():
            if own and id in self._weights:
                point = Fraction(100 * sum(credit for _, credit in own), sum(result.weight for result, _ in own))
                points[id] = min(point, exact(tops[id])) if id in tops else point
        if not points:
            return None
        mean = half_up(weighted_mean(points.values(), [self._weights[id] for id in points]))
        return float(min(mean, exact(tops[None])) if None in tops else mean)
