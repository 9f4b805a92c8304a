"""Duels: two submissions to one challenge compared on what both were assessed on."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from harness.scoring.strength import STABLE, resampled


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
        attempts: how many of the left and the right one; their marks are means.
        ahead: share of the draws in which the one that leads does so still when the attempts of both are drawn anew.
    """

    challenge: str
    left: str
    right: str
    left_mark: float | None
    right_mark: float | None
    criteria: int
    noise: float = NOISE
    attempts: tuple[int, int] = (1, 1)
    ahead: float = 1.0

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
        """Who leads by more than the noise, and would with other draws; None for a split, or where none was played."""
        if not self.played or abs(self.lead) <= self.noise or self.ahead < STABLE:
            return None
        return self.left if self.lead > 0 else self.right


@dataclass(frozen=True)
class RoundRobin:
    """Every two models on one challenge.

    Attributes:
        challenge: id.
        answered: the model of each answer, sorted: one with several attempts is named as often.
        marks: (answers, models) int16, the whole points of the answer on what its model and the column's were both
            assessed on in every attempt; -1 where that is nothing.
        criteria: (models, models) int16, how many criteria that is.
    """

    challenge: str
    answered: tuple[str, ...]
    marks: NDArray[np.int16]
    criteria: NDArray[np.int16]

    @classmethod
    def of_bytes(cls, challenge: str, answered: Sequence[str], text: bytes) -> Self:
        """What `to_bytes` wrote of these answers."""
        models = len(set(answered))
        marks, criteria = np.split(np.frombuffer(text, np.int16), [len(answered) * models])
        return cls(challenge, tuple(answered), marks.reshape(-1, models), criteria.reshape(-1, models))

    def to_bytes(self) -> bytes:
        """The marks and the criteria."""
        return self.marks.tobytes() + self.criteria.tobytes()

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Who answered, sorted."""
        return tuple(dict.fromkeys(self.answered))

    def duels(self) -> Iterator[Duel]:
        """Each pair once, by the models' names."""
        marks = [[None if mark < 0 else mark for mark in row] for row in self._means.tolist()]
        criteria, ahead, attempts = self.criteria.tolist(), self._ahead.tolist(), self._attempts.tolist()
        for i, j in combinations(range(len(self.models)), 2):
            yield Duel(
                self.challenge, self.models[i], self.models[j], marks[i][j], marks[j][i], criteria[i][j],
                attempts=(attempts[i], attempts[j]), ahead=ahead[i][j],
            )  # fmt: skip

    def wins(self) -> NDArray[np.float64]:
        """(models, models): 1 where the row's model beat the column's, half for a split, 0 where nothing was played."""
        lead = self._means - self._means.T
        split = (np.abs(lead) <= NOISE) | (self._ahead < STABLE)
        shares = np.where(split, 0.5, (lead > 0).astype(float))
        played = (self._means >= 0) & (self._means.T >= 0) & ~np.eye(len(self.models), dtype=bool)
        return np.where(played, shares, 0.0)

    @cached_property
    def _attempts(self) -> NDArray[np.int64]:
        """(models,): how many answers each has."""
        return np.array([self.answered.count(model) for model in self.models])

    @cached_property
    def _means(self) -> NDArray[np.float64]:
        """(models, models): mean marks of the row's model on what both were assessed on; -1 where that is nothing."""
        if not self.models:
            return np.zeros((0, 0))
        sums = np.add.reduceat(self.marks.astype(float), self._begins, axis=0)
        # rounded, so that means of the same marks in another order are equal
        return np.round(sums / self._attempts[:, None], 9)

    @property
    def _begins(self) -> NDArray[np.int64]:
        """(models,): where the answers of each begin."""
        return np.cumsum(self._attempts) - self._attempts

    @cached_property
    def _ahead(self) -> NDArray[np.float64]:
        """(models, models): `Duel.ahead`; 1 where nothing can be drawn anew or the lead is noise."""
        shares = np.ones((len(self.models), len(self.models)))
        several = self._attempts > 1
        if not several.any():
            return shares
        for i, j in combinations(range(len(self.models)), 2):
            lead = self._means[i, j] - self._means[j, i]
            if (several[i] or several[j]) and self._means[i, j] >= 0 and abs(lead) > NOISE:
                drawn = self._drawn(i, j, 0) - self._drawn(j, i, 1)
                shares[i, j] = shares[j, i] = _share_ahead(np.sign(lead) * drawn)
        return shares

    def _drawn(self, model: int, other: int, stream: int) -> NDArray[np.float64]:
        """(draws,): mean marks of a model against another when its attempts are drawn anew."""
        begin, count = int(self._begins[model]), int(self._attempts[model])
        own = self.marks[begin : begin + count, other].astype(float)
        drawn: NDArray[np.float64] = np.round(resampled(count, stream=stream) @ own, 9)
        return drawn


def _share_ahead(leads: NDArray[np.float64]) -> float:
    """Share of leads that are above 0, ties as half of one."""
    return float((leads > 0).mean() + 0.5 * (leads == 0).mean())


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
    return attempts_duel(challenge, [left], [right])


def attempts_duel(challenge: Challenge, left: Sequence[Record], right: Sequence[Record]) -> Duel:
    """Compare the attempts of two models: the means of their marks on the criteria that all were assessed on.

    Attempts that the harness failed to grade are left out.

    Args:
        challenge: the rubric.
        left, right: the records of each model.
    """
    graded = [[r for r in side if r.status is not Status.JUDGE_ERROR] or side[:1] for side in (left, right)]
    summaries = [_summary(record, number) for number, side in enumerate(graded) for record in side]
    (found,) = round_robin(challenge, summaries).duels()
    return replace(found, left=left[0].model, right=right[0].model)


def _summary(record: Record, side: int) -> RecordSummary:
    """A record under the name of its side: sides keep their order, whatever the models are called."""
    return replace(RecordSummary.of(record), submission_name=replace(record.submission_name, model=str(side)))


def round_robin(challenge: Challenge, ordered: Sequence[RecordSummary]) -> RoundRobin:
    """Every two of the models with these records of one challenge.

    Args:
        challenge: the rubric.
        ordered: the records, sorted by model.
    """
    assessed = [_AssessedRecord(challenge, summary) for summary in ordered]
    shared: dict[str, frozenset[str]] = {}
    for summary, each in zip(ordered, assessed, strict=True):
        shared[summary.model] = shared.get(summary.model, each.criteria) & each.criteria
    # those assessed on the same criteria are marked together
    alike: dict[frozenset[str], list[int]] = {}
    for number, criteria_of_all in enumerate(shared.values()):
        alike.setdefault(criteria_of_all, []).append(number)
    marks = np.empty((len(ordered), len(shared)), np.int16)
    criteria = np.empty((len(shared), len(shared)), np.int16)
    row = {model: number for number, model in enumerate(shared)}
    for number, (summary, each) in enumerate(zip(ordered, assessed, strict=True)):
        for others, places in alike.items():
            common = shared[summary.model] & others
            mark = each.mark(common)
            marks[number, places] = -1 if mark is None else mark
            criteria[row[summary.model], places] = len(common)
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
    for summary in sorted(summaries, key=lambda s: s.submission_name.order):
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
