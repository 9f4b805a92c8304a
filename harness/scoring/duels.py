"""Duels: two submissions to one challenge compared on what both were assessed on."""

import math
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.model import Challenge, Record, Status
from harness.numerics.rounding import exact, half_up
from harness.scoring.gates import ceiling, gates, gates_marks
from harness.scoring.marks import credited


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


def duel(challenge: Challenge, left: Record, right: Record) -> Duel:
    """Compare two records of one challenge, each marked again on the criteria that both were assessed on.

    Gates apply as far as the criteria behind them are among these; a submission that does not build keeps its own.
    """
    return _PairScorer(challenge).duel(left, right)


def duels(challenges: Iterable[Challenge], records: Iterable[Record]) -> tuple[Duel, ...]:
    """Every pair of models on every challenge both have a grade on, by challenge and then by the models' names."""
    rubrics = {c.id: c for c in challenges}
    by_challenge: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda r: (r.challenge, r.model)):
        if record.challenge in rubrics and record.status is not Status.JUDGE_ERROR:
            by_challenge.setdefault(record.challenge, []).append(record)
    markers = {id: _PairScorer(rubrics[id]) for id in by_challenge}
    return tuple(markers[id].duel(*pair) for id, own in by_challenge.items() for pair in combinations(own, 2))


def win_table(models: Sequence[str], head_to_heads: Iterable[HeadToHead]) -> NDArray[np.float64]:
    """(models, models): times the one of the row beat the one of the column, half for each side of a split."""
    place = {model: number for number, model in enumerate(models)}
    wins = np.zeros((len(models), len(models)))
    for one in head_to_heads:
        if one.played and one.left in place and one.right in place:
            left, right = place[one.left], place[one.right]
            share = 0.5 if one.winner is None else float(one.winner == one.left)
            wins[left, right] += share
            wins[right, left] += 1.0 - share
    return wins


class _PairScorer:
    """Marks records of one challenge again on a part of its criteria; most pairs share the same part."""

    def __init__(self, challenge: Challenge) -> None:
        self._challenge = challenge
        self._weights: Mapping[str, Fraction] = {d.id: exact(d.weight) for d in challenge.dimensions}
        self._assessed: dict[str, _Assessed] = {}
        self._common: dict[tuple[frozenset[str], frozenset[str]], frozenset[str]] = {}
        self._marks: dict[tuple[str, frozenset[str]], float | None] = {}

    def duel(self, left: Record, right: Record) -> Duel:
        both = self._of(left).criteria, self._of(right).criteria
        common = self._common.get(both)
        if common is None:
            common = self._common[both] = both[0] & both[1]
        marks = self._known(left, common), self._known(right, common)
        return Duel(self._challenge.id, left.model, right.model, marks[0], marks[1], len(common))

    def _of(self, record: Record) -> "_Assessed":
        known = self._assessed.get(record.model)
        if known is None:
            known = self._assessed[record.model] = _Assessed(record)
        return known

    def _known(self, record: Record, common: frozenset[str]) -> float | None:
        key = record.model, common
        if key not in self._marks:
            self._marks[key] = self._mark(self._of(record), common)
        return self._marks[key]

    def _mark(self, own: "_Assessed", common: frozenset[str]) -> float | None:
        gating = [e for e in own.gating if e.criterion in common]
        ceilings = () if own.built and not gating else gates(self._challenge, gating, built=own.built)
        points: dict[str, Fraction] = {}
        for id, earned in own.earned.items():
            inside = [(weight, credit) for criterion, weight, credit in earned if criterion in common]
            if inside and id in self._weights:
                point = Fraction(100 * sum(credit for _, credit in inside), sum(weight for weight, _ in inside))
                top = ceiling(ceilings, id)
                points[id] = point if top is None else min(point, exact(top))
        if not points:
            return None
        mean = half_up(_mean(points.values(), [self._weights[id] for id in points]))
        top = ceiling(ceilings, None)
        return float(mean if top is None else min(mean, exact(top)))


def _mean(points: Collection[Fraction], weights: Sequence[Fraction]) -> Fraction:
    """The weighted mean, over one denominator: adding fractions one by one takes ten times as long."""
    shares = math.lcm(*(weight.denominator for weight in weights))
    scale = math.lcm(*(point.denominator for point in points))
    parts = [weight.numerator * (shares // weight.denominator) for weight in weights]
    whole = [point.numerator * (scale // point.denominator) for point in points]
    return Fraction(sum(map(operator.mul, parts, whole)), scale * sum(parts))


class _Assessed:
    """What a record assessed, laid out for marking parts of it.

    Attributes:
        built: whether the submission was built.
        criteria: ids.
        earned: for each dimension, id, severity weight and earned weight of its criteria.
        gating: evidence that may cap a mark.
    """

    def __init__(self, record: Record) -> None:
        assessed = [e for e in record.evidence if e.outcome.assessed]
        self.built = record.status is not Status.BUILD_FAILED
        self.criteria = frozenset(e.criterion for e in assessed)
        self.gating = [e for e in assessed if gates_marks(e)]
        self.earned: dict[str, list[tuple[str, int, Fraction | int]]] = {}
        for each in assessed:
            self.earned.setdefault(each.dimension, []).append((each.criterion, each.severity.weight, credited(each)))
