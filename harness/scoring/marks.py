"""Exact arithmetic of marks: fractions inside, floats only where a mark is stated."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from harness.model import Evidence, Score
from harness.numerics.rounding import exact, half_up

FULL = Fraction(100)


@dataclass(frozen=True)
class ExactMark:
    """A mark with its interval, all exact.

    Attributes:
        point: 0 to 100 over what was assessed; None when nothing was.
        low: with everything unassessed lost.
        high: with everything unassessed met.
        coverage: assessed weight over total weight, 0 to 1.
    """

    point: Fraction | None
    low: Fraction
    high: Fraction
    coverage: Fraction

    @classmethod
    def of(cls, evidence: Iterable[Evidence]) -> Self:
        """The mark of one dimension's evidence: 100 times satisfied over assessed severity weight.

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
                credit += credited(item)
        if not total:
            raise ValueError("a dimension needs evidence")
        point = FULL * credit / assessed if assessed else None
        return cls(point, FULL * credit / total, FULL * (credit + total - assessed) / total, Fraction(assessed, total))

    def capped(self, ceiling: float | None) -> "ExactMark":
        """The same with no value above `ceiling`; a ceiling of 0 leaves 0 even where nothing was assessed."""
        if ceiling is None:
            return self
        top = exact(ceiling)
        point = min(self.point, top) if self.point is not None else (top if not top else None)
        return ExactMark(point, min(self.low, top), min(self.high, top), self.coverage)

    def rounded(self) -> "ExactMark":
        """The same with point and interval in whole points, half up."""
        point = None if self.point is None else half_up(self.point)
        return ExactMark(point, half_up(self.low), half_up(self.high), self.coverage)

    def stated(self) -> Score:
        """As it is kept in a record."""
        point = None if self.point is None else float(self.point)
        return Score(score=point, low=float(self.low), high=float(self.high), coverage=float(self.coverage))


def credited(evidence: Evidence) -> Fraction | int:
    """The severity weight that an assessed criterion earns."""
    met, weight = evidence.satisfied, evidence.severity.weight
    return int(met) * weight if met in (0.0, 1.0) else exact(met) * weight
