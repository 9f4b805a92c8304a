"""How far two sources of marks agree: on the marks themselves, and on the order they put models in.

Nothing here says which source is right.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

LEAST_MODELS = 3
"""Of two models every order is a perfect one."""
MOST_ENUMERATED = 8
"""So many models have their orders counted one by one; 8 have 40,320."""
SIGNIFICANT = 0.05
"""An order whose p-value cannot come below this tells nothing."""


@dataclass(frozen=True)
class Order:
    """How far two orders of the same models agree.

    Attributes:
        models: how many.
        tau: -1 reversed to 1 the same; None with too few models, or where one source tells none apart.
        p: how often an order drawn at random agrees or disagrees as much; None without tau.
        counted: whether `p` was counted over all orders; else it is the normal approximation.
    """

    models: int
    tau: float | None
    p: float | None
    counted: bool

    @property
    def telling(self) -> bool:
        """Whether a perfect order of so many models could be distinguished from chance at all."""
        return self.models >= LEAST_MODELS and least_p(self.models) < SIGNIFICANT


def alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Krippendorff's alpha for marks on an interval scale.

    1 - Do / De: Do is the mean squared difference of marks inside a unit, each unit's pairs under the weight
    1 / (m - 1) for its m marks; De that of all marks whatever their unit. 1 is agreement, 0 is chance, and below 0 the
    sources disagree more than chance would. Units with one mark carry nothing and are left out.

    K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, section D with the interval metric.

    Args:
        units: the marks that each thing marked was given, in any order.

    Returns:
        The coefficient; None where it is not defined: no unit has two marks, or all marks are equal.
    """
    pairable = [np.asarray(unit, dtype=float) for unit in units if len(unit) > 1]
    if not pairable:
        return None
    together = np.concatenate(pairable)
    expected = _squares(together) / (len(together) - 1)
    if expected == 0:
        return None
    return 1.0 - sum(_squares(unit) / (len(unit) - 1) for unit in pairable) / expected


def order(left: Sequence[float], right: Sequence[float]) -> Order:
    """Kendall's tau-b of two sources of marks, with a two-sided p-value.

    Up to `MOST_ENUMERATED` models the p-value is exact with ties too: the share of all orders of `right` whose tau is
    at least as far from 0. M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945.

    Args:
        left: one finite mark a model.
        right: marks of the same models, in the same order.

    Raises:
        ValueError: the two are not of one length.
    """
    if len(left) != len(right):
        raise ValueError(f"{len(left)} marks against {len(right)}")
    models = len(left)
    if models < LEAST_MODELS or len(set(left)) == 1 or len(set(right)) == 1:
        return Order(models, None, None, counted=True)
    # takes longer to import than all the rest of a scoreboard
    from scipy.stats import kendalltau

    found = kendalltau(left, right, variant="b")
    if models > MOST_ENUMERATED:
        return Order(models, float(found.statistic), float(found.pvalue), counted=False)
    return Order(models, float(found.statistic), _exact_p(np.asarray(left), np.asarray(right)), counted=True)


def least_p(models: int) -> float:
    """The smallest two-sided p-value that so many models can give: two of all their orders are perfect."""
    return min(1.0, 2 / factorial(models))


def _squares(marks: NDArray[np.float64]) -> float:
    """Squared differences over all ordered pairs, of centred marks so that equal ones give 0."""
    centred = marks - marks[0]
    centred = centred - centred.mean()
    return float(2 * len(marks) * (centred**2).sum())


def _exact_p(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    count = len(left)
    orders = np.fromiter(chain.from_iterable(permutations(range(count))), dtype=np.intp).reshape(-1, count)
    first, second = np.triu_indices(count, 1)
    before = np.sign(left[first] - left[second])
    # ties stay ties in every order, so tau's denominator does not change and its numerator decides
    numerators = np.abs(np.sign(right[orders[:, first]] - right[orders[:, second]]) @ before)
    return float((numerators >= numerators[0]).mean())
