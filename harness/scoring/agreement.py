"""Agreement of two sources of marks, neither of which counts as right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

LEAST_MODELS = 3
"""Fewest models for an order, as any order of two is perfect."""
MOST_ENUMERATED = 8
"""Most models whose orders are enumerated; 8 have 40,320."""
SIGNIFICANT = 0.05
"""Significance level that an order's p-value must be able to reach."""


@dataclass(frozen=True)
class Order:
    """Agreement of two orders of the same models.

    Attributes:
        tau: -1 (reversed) to 1 (equal); None with too few models, or if a source marks all alike.
        p: two-sided p-value.
        counted: true if `p` is exact, false for the normal approximation.
    """

    models: int
    tau: float | None
    p: float | None
    counted: bool

    @property
    def telling(self) -> bool:
        """True if a perfect order of so many models would be significant."""
        return self.models >= LEAST_MODELS and least_p(self.models) < SIGNIFICANT


def alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Return Krippendorff's alpha for marks on an interval scale, 1 for agreement, 0 for chance.

    1 - Do / De, where Do is the mean squared difference of marks within a unit, whose pairs weigh 1 / (m - 1) for its m
    marks, and De that of all marks. None if no unit has two marks, or all marks are equal.

    K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, section D with the interval metric.
    """
    pairable = [np.asarray(unit, dtype=float) for unit in units if len(unit) > 1]
    if not pairable:
        return None
    together = np.concatenate(pairable)
    expected = _sum_squares(together) / (len(together) - 1)
    if expected == 0:
        return None
    return 1.0 - sum(_sum_squares(unit) / (len(unit) - 1) for unit in pairable) / expected


def order(left: Sequence[float], right: Sequence[float]) -> Order:
    """Return Kendall's tau-b of two sources of marks of the same models.

    Up to `MOST_ENUMERATED` models the p-value is exact with ties, too: the share of all orders of `right` whose tau is
    at least as far from 0. M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945.

    Raises:
        ValueError: the lengths differ.
    """
    if len(left) != len(right):
        raise ValueError(f"{len(left)} marks against {len(right)}")
    models = len(left)
    if models < LEAST_MODELS or len(set(left)) == 1 or len(set(right)) == 1:
        return Order(models, None, None, counted=True)
    # imported late, as it takes longer than the rest of a scoreboard
    from scipy.stats import kendalltau

    found = kendalltau(left, right, variant="b")
    if models > MOST_ENUMERATED:
        return Order(models, float(found.statistic), float(found.pvalue), counted=False)
    return Order(models, float(found.statistic), _compute_exact_p(np.asarray(left), np.asarray(right)), counted=True)


def least_p(models: int) -> float:
    """Return the smallest possible two-sided p-value, as two of all orders are perfect."""
    return min(1.0, 2 / factorial(models))


def _sum_squares(marks: NDArray[np.float64]) -> float:
    # over all ordered pairs, and centred so that equal marks give 0
    centred = marks - marks[0]
    centred = centred - centred.mean()
    return float(2 * len(marks) * (centred**2).sum())


def _compute_exact_p(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    count = len(left)
    orders = np.fromiter(chain.from_iterable(permutations(range(count))), dtype=np.intp).reshape(-1, count)
    first, second = np.triu_indices(count, 1)
    before = np.sign(left[first] - left[second])
    # ties stay ties in every order, so tau's denominator does not change and its numerator decides
    numerators = np.abs(np.sign(right[orders[:, first]] - right[orders[:, second]]) @ before)
    return float((numerators >= numerators[0]).mean())
