"""Medians, paired ratios and clock agreement from GPU times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AGREEMENT = 2.0
"""Factor within which the event time and the parent's own time per call must agree: the parent times consecutive calls
with a warm cache, the events time calls with an empty one.
"""
_OUTSIDE = 0.05


@dataclass(frozen=True)
class Interval:
    """A median with its 95 % confidence interval."""

    median: float
    low: float
    high: float


def median_interval(values: Sequence[float] | Floats) -> Interval:
    """Return the median with the distribution-free interval of order statistics.

    Args:
        values: (n,), independent, n >= 1. Below six the interval is the whole range, with less than 95 % confidence.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    n, below, rank = len(ordered), 0.0, 0
    # as many values lie below the true median as heads fall in n tosses
    while (below := below + math.comb(n, rank) / 2**n) < _OUTSIDE / 2:
        rank += 1
    low = max(rank - 1, 0)
    return Interval(float(np.median(ordered)), float(ordered[low]), float(ordered[n - 1 - low]))


def compute_round_ratio(times: Floats, of: int, to: int) -> Interval:
    """Return the ratio of contender `of`'s time to that of `to`, by round.

    Args:
        times: (rounds, contenders), any unit; `of` and `to` are columns.
    """
    return median_interval(times[:, of] / times[:, to])


def turns(rounds: int, contenders: int, seed: int) -> list[list[int]]:
    """Draw an order of contenders for each round."""
    generator = np.random.default_rng(seed)
    return [[int(i) for i in generator.permutation(contenders)] for _ in range(rounds)]


def clocks_agree(event_ms: float, few: tuple[int, float], many: tuple[int, float]) -> bool:
    """Return whether event times agree with the parent's clock, out of the submission's reach.

    Args:
        event_ms: milliseconds of one call between two events.
        few: number of consecutive calls, and the parent's wall seconds for them.
        many: the same for more calls; the difference cancels fixed costs.
    """
    per_call_ms = (many[1] - few[1]) / (many[0] - few[0]) * 1e3
    return event_ms > 0 and per_call_ms > 0 and 1 / AGREEMENT <= event_ms / per_call_ms <= AGREEMENT


def necessary_bytes(rows: int, vocab: int, k: int) -> int:
    """Return the least bytes of a fused softmax and top-k: logits read once, outputs written once."""
    return rows * vocab * 4 + rows * k * 8


def plan_rows(vocab: int, bytes_wanted: int = 256 << 20) -> int:
    """Return the rows whose float logits take about `bytes_wanted`, more than any L2 cache."""
    return max(1, round(bytes_wanted / (4 * vocab)))


def plan_repeats(event_ms: float, seconds: float = 0.5) -> tuple[int, int]:
    """Choose two call counts for `clocks_agree`; the larger takes about `seconds`."""
    many = min(max(10, round(seconds * 1e3 / max(event_ms, 1e-4))), 100_000)
    return max(1, many // 5), many
