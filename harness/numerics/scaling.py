"""Scaling exponents: how a cost grows with a size, from repeated timings.

The exponent is the slope of log(median time) on log(size) over the upper half of the sizes, where constant overhead
weighs least. Its interval covers a bootstrap over the repeats of every size and the slope with any one size left out,
so a curve that is no power law is not called one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Growth = Literal["linear", "quadratic", "unclear"]

LINEAR = (0.7, 1.35)
"""The interval that calls a growth linear when it holds the exponent's whole confidence interval."""
QUADRATIC = (1.65, 2.35)
MIN_SIZES = 5
MIN_REPEATS = 5
MIN_RANGE = 32
"""Largest over smallest size that a verdict needs."""
OVERHEAD_FACTOR = 3
"""A size counts when its median time is at least this many times the overhead."""

_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Exponent:
    """A fitted exponent with its 95 % interval; NaN where too few sizes are left to fit."""

    value: float
    low: float
    high: float
    growth: Growth
    sizes: tuple[int, ...]
    """Sizes above the overhead, ascending; the upper half of them, three at least, was fitted."""
    reason: str
    """Why the growth is unclear; empty when it is not."""


def fit_exponent(
    timings: Mapping[int, Sequence[float]], rng: np.random.Generator, *, overhead: float = 0.0
) -> Exponent:
    """Fit the exponent of a cost in a size and call its growth linear, quadratic or unclear.

    Args:
        timings: size -> repeated times in seconds (or any positive cost); interleave the sizes when measuring.
        rng: source of the bootstrap.
        overhead: time of a call as the size goes to 0, same unit.

    Raises:
        ValueError: a size or a time is not positive and finite, or a size has no time.
    """
    _require_positive(timings)
    medians = {size: float(np.median(times)) for size, times in sorted(timings.items())}
    sizes = tuple(size for size, median in medians.items() if median >= OVERHEAD_FACTOR * overhead)
    if len(sizes) < 2:
        return Exponent(math.nan, math.nan, math.nan, "unclear", sizes, _too_little(sizes, MIN_REPEATS))
    fitted = sizes[-max(3, (len(sizes) + 1) // 2) :]
    centre = np.array([medians[size] for size in fitted])
    value = float(_slopes(fitted, centre))
    bounds = [*_resampled(fitted, timings, rng), *_leaving_one_out(fitted, centre)]
    low, high = min(bounds), max(bounds)
    if reason := _too_little(sizes, min(len(timings[size]) for size in fitted)):
        return Exponent(value, low, high, "unclear", sizes, reason)
    growth = _growth(low, high)
    if growth == "unclear":
        reason = f"the interval [{low:.2f}, {high:.2f}] lies in neither {LINEAR} nor {QUADRATIC}"
    return Exponent(value, low, high, growth, sizes, reason)


def _growth(low: float, high: float) -> Growth:
    if LINEAR[0] <= low and high <= LINEAR[1]:
        return "linear"
    if QUADRATIC[0] <= low and high <= QUADRATIC[1]:
        return "quadratic"
    return "unclear"


def _too_little(sizes: tuple[int, ...], repeats: int) -> str:
    """Why these timings cannot carry a verdict; empty when they can."""
    if len(sizes) < MIN_SIZES:
        return f"{len(sizes)} sizes lie above the overhead, {MIN_SIZES} are needed"
    if sizes[-1] < MIN_RANGE * sizes[0]:
        return f"the sizes span a factor of {sizes[-1] / sizes[0]:.3g}, {MIN_RANGE} is needed"
    if repeats < MIN_REPEATS:
        return f"a size was timed {repeats} times, {MIN_REPEATS} are needed"
    return ""


def _resampled(sizes: tuple[int, ...], timings: Mapping[int, Sequence[float]], rng: np.random.Generator) -> list[float]:
    """95 % percentile interval of the slope when the repeats of every size are drawn again with replacement."""
    medians = np.empty((_RESAMPLES, len(sizes)))
    for column, size in enumerate(sizes):
        times = np.asarray(timings[size])
        drawn = rng.integers(0, len(times), size=(_RESAMPLES, len(times)))
        medians[:, column] = np.median(times[drawn], axis=1)
    return [float(bound) for bound in np.percentile(_slopes(sizes, medians), [2.5, 97.5])]


def _leaving_one_out(sizes: tuple[int, ...], times: NDArray[np.float64]) -> list[float]:
    if len(sizes) < 3:
        return []
    return [float(_slopes(sizes[:out] + sizes[out + 1 :], np.delete(times, out))) for out in range(len(sizes))]


def _slopes(sizes: tuple[int, ...], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least-squares slope of log(times) (..., sizes) on log(sizes), shape (...)."""
    x = np.log(np.asarray(sizes, dtype=np.float64))
    x -= x.mean()
    return np.asarray(np.log(times) @ x / (x @ x))


def _require_positive(timings: Mapping[int, Sequence[float]]) -> None:
    for size, times in timings.items():
        if size <= 0 or len(times) == 0 or not all(0.0 < t < math.inf for t in times):
            raise ValueError(f"size {size}: needs a positive size and positive finite times, not {list(times)}")
