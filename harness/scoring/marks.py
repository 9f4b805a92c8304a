"""Exact arithmetic of marks."""

import math
import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from harness.model import Evidence, Score
from harness.numerics.rounding import exact, half_up


@dataclass(frozen=True)
class ExactMark:
    """A mark with its interval.

    Attributes:
        point: 0 to 100 over the assessed part, if any.
        low, high: marks with everything unassessed lost or met.
        coverage: assessed over total weight, 0 to 1.
    """

    point: Fraction | None
    low: Fraction
    high: Fraction
    coverage: Fraction

    @classmethod
    def of(cls, evidence: Iterable[Evidence]) -> Self:
        """Return the mark of one dimension's evidence: 100 times satisfied over assessed severity weight.

        Raises:
            ValueError: there is no evidence.
        """
        total = assessed = 0
        credit: Fraction | int = 0
        for item in evidence:
            weight = item.severity.weight
            total += weight
            if item.outcome.assessed:
                assessed += weight
                credit += compute_credit(item.satisfied, weight)
        if not total:
            raise ValueError("a dimension needs evidence")
        point = Fraction(100 * credit, assessed) if assessed else None
        low, high = Fraction(100 * credit, total), Fraction(100 * (credit + total - assessed), total)
        return cls(point, low, high, Fraction(assessed, total))

    def cap(self, ceiling: float | None) -> "ExactMark":
        """Return the mark bounded by `ceiling`; a ceiling of 0 gives a point even if unassessed."""
        if ceiling is None:
            return self
        top = exact(ceiling)
        point = min(self.point, top) if self.point is not None else (top if not top else None)
        return ExactMark(point, min(self.low, top), min(self.high, top), self.coverage)

    def at_most(self, highest: "ExactMark") -> "ExactMark":
        """Return the mark with each value bounded by that of `highest`."""
        point = self.point
        if point is not None and highest.point is not None:
            point = min(point, highest.point)
        return ExactMark(point, min(self.low, highest.low), min(self.high, highest.high), self.coverage)

    def round_half_up(self) -> "ExactMark":
        """Return the mark in whole points."""
        point = None if self.point is None else half_up(self.point)
        return ExactMark(point, half_up(self.low), half_up(self.high), self.coverage)

    def to_score(self) -> Score:
        """Convert the mark for records."""
        point = None if self.point is None else float(self.point)
        return Score(score=point, low=float(self.low), high=float(self.high), coverage=float(self.coverage))


def compute_credit(satisfied: float, weight: int) -> Fraction | int:
    """Return the credit of a criterion of this severity weight."""
    return int(satisfied) * weight if satisfied in (0.0, 1.0) else exact(satisfied) * weight


def compute_mean(points: Collection[Fraction], weights: Sequence[Fraction]) -> Fraction:
    """Return the mean over one denominator, ten times faster than adding fractions one by one."""
    shares = math.lcm(*(weight.denominator for weight in weights))
    scale = math.lcm(*(point.denominator for point in points))
    parts = [weight.numerator * (shares // weight.denominator) for weight in weights]
    whole = [point.numerator * (scale // point.denominator) for point in points]
    return Fraction(sum(map(operator.mul, parts, whole)), scale * sum(parts))
