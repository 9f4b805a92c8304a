"""Paired comparison of two costs: their ratio, and a sequential rule for a verdict.

A pair is one cost of each side at nearly the same moment; pairs come from several pairs of processes. The ratio is the
exponential of the median log ratio. Its interval is the sign test's, which assumes nothing about the noise: the median
lies between two order statistics of n pairs with a binomial probability.

The rule looks at fixed numbers of pairs and divides its error among the looks (Bonferroni). A difference counts if the
interval lies beyond the margin at two consecutive looks, because noise comes in bursts, and all processes but one in
`ODD` agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

import numpy as np
from scipy.special import bdtr

LOOKS = (10, 15, 22, 33, 50, 75, 112, 168, 252, 378, 567, 850, 1275, 1912)
"""Numbers of pairs at which a verdict is possible."""
ALPHA = 0.05 / len(LOOKS)
"""Probability that one look's interval misses the median; at most 5 % over all looks."""
MARGIN = math.log(1.02)
"""Log ratio within which two costs count as the same; identical code in two processes differs by about 1 %."""
PROCESSES = 3
"""Fewest pairs of processes for a verdict."""
ODD = 6
"""Number of processes per dissenting one; memory placement shifts a process by a per cent or two for all its pairs."""
LEAST = 0.05
"""Smallest share of a cost that counts as a side's own; the rest above an overhead may be noise."""


class PairedVerdict(StrEnum):
    """The first cost relative to the second."""

    FASTER = "faster"
    SAME = "same"
    SLOWER = "slower"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """The ratio of the first cost to the second."""

    ratio: float
    """Median over all pairs; NaN without pairs."""
    low: float
    """Lower end of the ratio's interval; 0 with too few pairs."""
    high: float
    """Upper end; infinite with too few pairs."""
    pairs: int
    processes: int
    """Number of process pairs behind the pairs of costs."""
    verdict: PairedVerdict

    @property
    def decided(self) -> bool:
        """True unless the verdict is unclear."""
        return self.verdict is not PairedVerdict.UNCLEAR

    @property
    def not_slower(self) -> bool:
        """True if the first cost is the same or less, even without a verdict."""
        return self.processes >= PROCESSES and self.high < math.exp(MARGIN)


def log_ratios(first: Sequence[float], second: Sequence[float], overhead: float = 0.0) -> list[float]:
    """Return the log ratios of paired costs above a common overhead.

    At least `LEAST` of each cost remains after subtraction of the overhead.

    Raises:
        ValueError: the lengths differ, or a cost is not positive.
    """
    return [
        math.log(_subtract_overhead(a, overhead) / _subtract_overhead(b, overhead))
        for a, b in zip(first, second, strict=True)
    ]


def compare(ratios: Sequence[Sequence[float]]) -> PairedComparison:
    """Compare two costs by the log ratios of their pairs, one sequence per pair of processes."""
    pooled = sorted(value for process in ratios for value in process)
    processes = sum(1 for process in ratios if process)
    if not pooled:
        return PairedComparison(math.nan, 0.0, math.inf, 0, 0, PairedVerdict.UNCLEAR)
    low, high = interval(pooled)
    verdict = PairedVerdict.UNCLEAR
    if processes >= PROCESSES:
        verdict = _verdict(low, high, [median(process) for process in ratios if process])
    return PairedComparison(math.exp(median(pooled)), math.exp(low), math.exp(high), len(pooled), processes, verdict)


class Rule:
    """The sequential rule, for each number of pairs in `LOOKS` until decided."""

    def __init__(self) -> None:
        self._seen = PairedVerdict.UNCLEAR

    def look(self, ratios: Sequence[Sequence[float]]) -> PairedComparison:
        """Apply `compare`, but require a difference at two consecutive looks."""
        comparison = compare(ratios)
        seen, self._seen = self._seen, comparison.verdict
        if comparison.verdict in (seen, PairedVerdict.SAME):
            return comparison
        return replace(comparison, verdict=PairedVerdict.UNCLEAR)


def interval(values: Sequence[float], alpha: float = ALPHA) -> tuple[float, float]:
    """Return the sign-test interval of the median: two of the values, or (-inf, inf) if there are too few.

    Args:
        values: independent values, ascending.
        alpha: largest probability that the interval misses the median.
    """
    n = len(values)
    # the median lies under the value of rank k with probability P(Binomial(n, 1/2) < k)
    rank = int(np.searchsorted(2.0 * bdtr(np.arange(n), n, 0.5), alpha, side="right"))
    return (values[rank - 1], values[n - rank]) if rank else (-math.inf, math.inf)


def _verdict(low: float, high: float, processes: Sequence[float]) -> PairedVerdict:
    odd = len(processes) // ODD
    if low > MARGIN and sum(value <= 0.0 for value in processes) <= odd:
        return PairedVerdict.SLOWER
    if high < -MARGIN and sum(value >= 0.0 for value in processes) <= odd:
        return PairedVerdict.FASTER
    return PairedVerdict.SAME if low > -MARGIN and high < MARGIN else PairedVerdict.UNCLEAR


def _subtract_overhead(cost: float, overhead: float) -> float:
    if not cost > 0.0:
        raise ValueError(f"a cost must be positive, not {cost}")
    return max(cost - overhead, LEAST * cost)
