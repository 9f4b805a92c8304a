"""From times on a GPU to figures: medians, paired ratios with their intervals, and whether two clocks agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AGREEMENT = 2.0
"""Factor within which the event time and the parent's own time per call must lie of each other: the calls behind the
parent's time follow each other with a warm cache, those behind the event time with an empty one."""
_OUTSIDE = 0.05


@dataclass(frozen=True)
class Interval:
    """A median, and where the true one lies with 95 % confidence."""

    median: float
    low: float
    high: float


def median_interval(values: Sequence[float] | Floats) -> Interval:
    """The median of independent values, with the interval that their order statistics give for any distribution.

    Args:
        values: (n,), n >= 1. With fewer than six the interval is the whole range, which holds less than 95 %.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    n, below, rank = len(ordered), 0.0, 0
    # as many values lie under the median as heads fall in n tosses
    while (below := below + math.comb(n, rank) / 2**n) < _OUTSIDE / 2:
        rank += 1
    low = max(rank - 1, 0)
    return Interval(float(np.median(ordered)), float(ordered[low]), float(ordered[n - 1 - low]))


def paired_ratio(times: Floats, of: int, to: int) -> Interval:
    """How many times longer contender `of` takes than `to`, round by round.

    Args:
        times: (rounds, contenders), any unit.
        of: column of the numerator.
        to: column of the denominator.
    """
    return median_interval(times[:, of] / times[:, to])


def turns(rounds: int, contenders: int, seed: int) -> list[list[int]]:
    """For each round the order in which contenders take their turn: each order drawn anew, so that none is favoured."""
    generator = np.random.default_rng(seed)
    return [[int(i) for i in generator.permutation(contenders)] for _ in range(rounds)]


def clocks_agree(event_ms: float, few: tuple[int, float], many: tuple[int, float]) -> bool:
    """Whether event times are borne out by the parent's clock, which the answer cannot reach.

    Args:
        event_ms: milliseconds of one call between two events.
        few: number of calls in a row, and the parent's wall seconds for them.
        many: the same for more calls; the difference leaves out what is spent once.
    """
    per_call_ms = (many[1] - few[1]) / (many[0] - few[0]) * 1e3
    return event_ms > 0 and per_call_ms > 0 and 1 / AGREEMENT <= event_ms / per_call_ms <= AGREEMENT


def necessary_bytes(rows: int, vocab: int, k: int) -> int:
    """Bytes a fused softmax and top-k cannot do without: the logits read once, both outputs written once."""
    return rows * vocab * 4 + rows * k * 8


def plan_rows(vocab: int, bytes_wanted: int = 256 << 20) -> int:
    """Rows whose logits take about `bytes_wanted`: several times any L2 cache, and quick to draw."""
    return max(1, round(bytes_wanted / (4 * vocab)))


def plan_repeats(event_ms: float, seconds: float = 0.5) -> tuple[int, int]:
    """Two numbers of calls for `clocks_agree`: the larger takes about `seconds` if event times are right."""
    many = min(max(10, round(seconds * 1e3 / max(event_ms, 1e-4))), 100_000)
    return max(1, many // 5), many
