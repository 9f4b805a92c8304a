"""Scaling exponents: the growth of a cost with a size, from repeated timings.

The exponent is the slope of log(median time) on log(size) over the upper half of the sizes, where overhead weighs
least. Its interval covers a bootstrap over each size's repeats and the slopes without one size, so that only power laws
get a verdict.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Growth = Literal["linear", "quadratic", "unclear"]

LINEAR = (0.7, 1.35)
"""Range that must contain the exponent's whole interval for linear growth."""
QUADRATIC = (1.65, 2.35)
MIN_SIZES = 5
MIN_REPEATS = 5
MIN_RANGE = 32
"""Smallest ratio of the largest to the smallest size for a verdict."""
OVERHEAD_FACTOR = 3
"""Smallest ratio of a size's median time to the overhead for the size to count."""

_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Exponent:
    """An exponent with its 95 % interval; NaN with too few sizes to fit."""

    value: float
    low: float
    high: float
    growth: Growth
    sizes: tuple[int, ...]
    """Sizes above the overhead, ascending; the fit used the upper half, at least three."""
    reason: str
    """Reason for unclear growth, else empty."""


def fit_exponent(
    timings: Mapping[int, Sequence[float]], rng: np.random.Generator, *, overhead: float = 0.0
) -> Exponent:
    """Fit the exponent of a cost in a size, and classify the growth.

    Args:
        timings: size -> repeated times in seconds, or any positive cost; interleave the sizes when measuring.
        overhead: cost as the size goes to 0.

    Raises:
        ValueError: a size or time is not positive and finite, or a size has no time.
    """
    _require_positive(timings)
    medians = {size: float(np.median(times)) for size, times in sorted(timings.items())}
    sizes = tuple(size for size, median in medians.items() if median >= OVERHEAD_FACTOR * overhead)
    if len(sizes) < 2:
        return Exponent(math.nan, math.nan, math.nan, "unclear", sizes, _explain_too_little(sizes, MIN_REPEATS))
    fitted = sizes[-max(3, (len(sizes) + 1) // 2) :]
    centre = np.array([medians[size] for size in fitted])
    value = float(_fit_slopes(fitted, centre))
    bounds = [*_bootstrap_interval(fitted, timings, rng), *_leave_one_out(fitted, centre)]
    low, high = min(bounds), max(bounds)
    if reason := _explain_too_little(sizes, min(len(timings[size]) for size in fitted)):
        return Exponent(value, low, high, "unclear", sizes, reason)
    growth = _classify_growth(low, high)
    if growth == "unclear":
        reason = f"the interval [{low:.2f}, {high:.2f}] lies in neither {LINEAR} nor {QUADRATIC}"
    return Exponent(value, low, high, growth, sizes, reason)


def _classify_growth(low: float, high: float) -> Growth:
    if LINEAR[0] <= low and high <= LINEAR[1]:
        return "linear"
    if QUADRATIC[0] <= low and high <= QUADRATIC[1]:
        return "quadratic"
    return "unclear"


def _explain_too_little(sizes: tuple[int, ...], repeats: int) -> str:
    if len(sizes) < MIN_SIZES:
        return f"{len(sizes)} sizes lie above the overhead, {MIN_SIZES} are needed"
    if sizes[-1] < MIN_RANGE * sizes[0]:
        return f"the sizes span a factor of {sizes[-1] / sizes[0]:.3g}, {MIN_RANGE} is needed"
    if repeats < MIN_REPEATS:
        return f"a size was timed {repeats} times, {MIN_REPEATS} are needed"
    return ""


def _bootstrap_interval(
    sizes: tuple[int, ...], timings: Mapping[int, Sequence[float]], rng: np.random.Generator
) -> list[float]:
    medians = np.empty((_RESAMPLES, len(sizes)))
    for column, size in enumerate(sizes):
        times = np.asarray(timings[size])
        drawn = rng.integers(0, len(times), size=(_RESAMPLES, len(times)))
        medians[:, column] = np.median(times[drawn], axis=1)
    return [float(bound) for bound in np.percentile(_fit_slopes(sizes, medians), [2.5, 97.5])]


def _leave_one_out(sizes: tuple[int, ...], times: NDArray[np.float64]) -> list[float]:
    if len(sizes) < 3:
        return []
    return [float(_fit_slopes(sizes[:out] + sizes[out + 1 :], np.delete(times, out))) for out in range(len(sizes))]


def _fit_slopes(sizes: tuple[int, ...], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least-squares slope of log(times) (..., sizes) on log(sizes), shape (...)."""
    x = np.log(np.asarray(sizes, dtype=np.float64))
    x -= x.mean()
    return np.asarray(np.log(times) @ x / (x @ x))


def _require_positive(timings: Mapping[int, Sequence[float]]) -> None:
    for size, times in timings.items():
        if size <= 0 or len(times) == 0 or not all(0.0 < t < math.inf for t in times):
            raise ValueError(f"size {size}: needs a positive size and positive finite times, not {list(times)}")
