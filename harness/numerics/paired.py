"""Paired comparison of two costs: how many times the one is the other, and when enough pairs say so.

Costs are taken in pairs, one of each side at nearly the same moment, in several pairs of processes. The ratio is the
exponential of the median of the log ratios. Its interval is that of the sign test, which asks nothing of how the noise
is distributed: between two order statistics of n pairs the median lies with a probability that is binomial.

The rule is sequential. It looks at fixed numbers of pairs and shares its error among the looks (Bonferroni), so looking
early costs nothing in honesty. A difference is called only when the interval lies beyond the margin at two looks in a
row and the pairs of each process by themselves lean the same way, one in `ODD` of them aside: noise comes in bursts,
and where code and data lie in memory can move one process by a per cent or two, which no number of pairs in it averages
out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

import numpy as np
from scipy.special import bdtr

LOOKS = (10, 15, 22, 33, 50, 75, 112, 168, 252, 378, 567, 850, 1275, 1912)
"""Numbers of pairs at which a verdict may fall."""
ALPHA = 0.05 / len(LOOKS)
"""Chance that the interval of one look misses the median; over all looks at most 5 %."""
MARGIN = math.log(1.02)
"""Log ratio below which two costs are the same: between processes identical code differs by about 1 %."""
PROCESSES = 3
"""Fewest pairs of processes that a verdict needs."""
ODD = 6
"""Of so many processes one may lean the other way; of fewer none."""
LEAST = 0.05
"""Share of a cost that counts as the side's own at the very least: what is left over an overhead may be noise."""


class PairedVerdict(StrEnum):
    """How the first cost compares with the second."""

    FASTER = "faster"
    SAME = "same"
    SLOWER = "slower"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """The first cost over the second."""

    ratio: float
    """Median over all pairs; NaN without any."""
    low: float
    """Lower end of the interval of the ratio; 0 with too few pairs for one."""
    high: float
    """Upper end; infinite with too few pairs."""
    pairs: int
    processes: int
    """Pairs of processes that the pairs of costs come from."""
    verdict: PairedVerdict

    @property
    def decided(self) -> bool:
        """Whether the verdict is one."""
        return self.verdict is not PairedVerdict.UNCLEAR

    @property
    def not_slower(self) -> bool:
        """Whether the first cost is the same or less, even where it is open which."""
        return self.processes >= PROCESSES and self.high < math.exp(MARGIN)


def log_ratios(first: Sequence[float], second: Sequence[float], overhead: float = 0.0) -> list[float]:
    """Log ratios of paired costs above a common overhead.

    Args:
        first: costs of one side, any positive unit.
        second: costs of the other side, in the same order and unit.
        overhead: part of every cost that is not the side's own. A cost near or under it counts as `LEAST` of itself.

    Raises:
        ValueError: the lengths differ, or a cost is not positive.
    """
    return [math.log(_above(a, overhead) / _above(b, overhead)) for a, b in zip(first, second, strict=True)]


def compare(ratios: Sequence[Sequence[float]]) -> PairedComparison:
    """Compare two costs from their log ratios.

    Args:
        ratios: log ratios of the pairs, one sequence a pair of processes.

    Returns:
        The comparison; its verdict is `unclear` while the pairs do not carry another.
    """
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
    """The sequential rule: asked at every number of pairs in `LOOKS`, until the comparison is decided."""

    def __init__(self) -> None:
        self._seen = PairedVerdict.UNCLEAR

    def look(self, ratios: Sequence[Sequence[float]]) -> PairedComparison:
        """As `compare`, but a difference counts only where the look before saw it too."""
        comparison = compare(ratios)
        seen, self._seen = self._seen, comparison.verdict
        if comparison.verdict in (seen, PairedVerdict.SAME):
            return comparison
        return replace(comparison, verdict=PairedVerdict.UNCLEAR)


def interval(values: Sequence[float], alpha: float = ALPHA) -> tuple[float, float]:
    """Sign-test interval of the median of independent values: it misses with a probability of at most `alpha`.

    Args:
        values: sorted, smallest first.
        alpha: see above.

    Returns:
        Two of the values; (-inf, inf) when there are too few for any.
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


def _above(cost: float, overhead: float) -> float:
    if not cost > 0.0:
        raise ValueError(f"a cost must be positive, not {cost}")
    return max(cost - overhead, LEAST * cost)
