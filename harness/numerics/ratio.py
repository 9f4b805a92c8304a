"""Error ratios: a submission's distance from a long-double oracle, in units of its inputs' rounding.

A fixed tolerance rejects correct kernels on ill-conditioned inputs and accepts zeros for small outputs. The ratio
divides the largest error by the movement of the exact outputs when every input moves by half an ulp. So one threshold
serves every dtype, scale and offset.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics.special import first_mismatch, position, round_values

PASS = 32.0
"""Largest passing ratio, above those of honest layer norms, forward and backward, in float32 and float64 with offsets 0
to 1e10 (tests/numerics/test_honest_arithmetic_passes.py). Sequential sums and Welford's update grow with the square
root of the row: at most 24 up to 512 terms; at 1,024 terms with an offset about 20, and above 32 in 3 of 192 runs. So
probe rows over 512 without a large offset."""
FULL = 4.0
"""Largest ratio with full credit; pairwise sums stay near or below it."""
PASS_CREDIT = 0.7
"""Credit at the ratio `PASS`."""
DRAWS = 8
"""Perturbations per spread. Their choice moves an honest layer norm's ratio on one (4, 8, 64) input by 4 to 18 %
(standard deviation over 50 seeds), less than fresh inputs do (15 to 35 %)."""

Oracle = Callable[..., NDArray[np.longdouble] | Sequence[NDArray[np.longdouble]]]
Number = bool | int | float


@dataclass(frozen=True, slots=True)
class Judged:
    """An error ratio with its position."""

    ratio: float
    """0 for a correctly rounded submission, inf for a wrong shape, dtype, integer or special value."""
    index: tuple[int, ...] | None
    """Worst position; None for an empty array or a wrong shape or dtype."""
    expected: Number
    got: Number

    @property
    def passed(self) -> bool:
        """True up to `PASS`."""
        return self.ratio <= PASS


def conditioning(
    oracle: Oracle, inputs: Sequence[Any], rng: np.random.Generator, draws: int = DRAWS
) -> tuple[float, ...]:
    """Return the largest movement of each oracle output under random half-ulp moves of the inputs.

    Args:
        oracle: called as `oracle(*inputs)`; returns one long-double array or a sequence of them.
        inputs: arguments in the submission's dtypes. Floating arrays and NumPy floats move by half an ulp of their own
            dtype, in long double; everything else, including Python floats, stays fixed.
    Returns:
        One spread per output, finite and >= 0, over finite positions.
    """
    base, moves = _outputs(oracle(*inputs)), [_make_move(value) for value in inputs]
    spreads = [0.0] * len(base)
    for _ in range(draws):
        moved = _outputs(oracle(*(move(rng) for move in moves)))
        spreads = [max(s, _measure_movement(b, m)) for s, b, m in zip(spreads, base, moved, strict=True)]
    return tuple(spreads)


def judge(actual: NDArray[Any], expected: NDArray[Any], spread: float) -> Judged:
    """Return a submission's error ratio with its worst position.

    ratio = max|actual - expected| / max(spread, eps * rms(expected), eps/2 * max|expected|), with eps of the
    submission's dtype. The last term, the rounding of the largest output, matters for long one-hot rows. The ratio is
    inf for a wrong shape, kind of number or special value, unequal integers or booleans, and an error with a zero
    divisor; 0 for empty arrays.

    Args:
        spread: the output's entry in `conditioning`.

    Raises:
        ValueError: the spread is negative or not finite.
    """
    if not 0.0 <= spread < math.inf:
        raise ValueError(f"spread must be finite and >= 0, not {spread}")
    if actual.shape != expected.shape or not comparable(actual.dtype, expected.dtype):
        return Judged(math.inf, None, math.nan, math.nan)
    if actual.size == 0:
        return Judged(0.0, None, math.nan, math.nan)
    if actual.dtype.kind != "f":
        differ = unequal(actual, expected)
        index = position(differ)
        return Judged(math.inf if differ[index] else 0.0, index, plain(expected[index]), plain(actual[index]))
    if mismatch := first_mismatch(actual, expected):
        return Judged(math.inf, mismatch.index, mismatch.expected, mismatch.got)
    errors = _errors(actual, expected)
    index = position(errors)
    ratio = _ratio(errors[index], max(np.longdouble(spread), _compute_floor(expected, actual.dtype)))
    return Judged(ratio, index, float(expected[index]), float(actual[index]))


def error_ratio(actual: NDArray[Any], expected: NDArray[Any], spread: float) -> float:
    """Return the ratio of `judge`."""
    return judge(actual, expected, spread).ratio


def worst(actual: NDArray[Any], wanted: NDArray[Any]) -> tuple[int, ...] | None:
    """Return the position of the largest difference between two arrays of one shape and dtype; None if equal.

    NaN equals NaN, and 0 equals -0. For integers, booleans and special values it is the first difference.
    """
    if not (differ := unequal(actual, wanted)).any():
        return None
    if actual.dtype.kind != "f":
        return position(differ)
    mismatch = first_mismatch(actual, wanted)
    return mismatch.index if mismatch else position(_errors(actual, wanted))


def unequal(actual: Any, expected: Any) -> Any:
    """Return the mask of unequal values, for any dtypes; NaN equals NaN."""
    if actual.dtype.kind != expected.dtype.kind:  # a long double, unlike a float64, represents every 64-bit integer
        actual, expected = actual.astype(np.longdouble), expected.astype(np.longdouble)
    return (actual != expected) & ((actual == actual) | (expected == expected))


def comparable(actual: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    """Return whether a dtype can be correct: any float for numbers, any integer for integers."""
    kinds = {"f": "fiu", "i": "iu", "u": "iu", "b": "b"}
    return expected.kind in kinds.get(actual.kind, "")


def rms(values: NDArray[Any]) -> np.longdouble:
    """Return the root mean square, safe against overflow and underflow of the squares; 0 if empty."""
    wide = np.abs(values.astype(np.longdouble))
    largest: np.longdouble = wide.max(initial=np.longdouble(0))
    return largest * np.sqrt(np.mean((wide / largest) ** 2)) if largest > 0 else largest


def plain(value: Any) -> Number:
    """Return an array's entry as a Python number."""
    number: Number = float(value) if value.dtype.kind == "f" else value.item()
    return number


def credit(ratio: float) -> float:
    """Return the credit for a ratio: 1 up to `FULL`, log-linear to 0.7 at `PASS`, 0 beyond and for NaN."""
    if not ratio <= PASS:
        return 0.0
    if ratio <= FULL:
        return 1.0
    return 1.0 - (1.0 - PASS_CREDIT) * math.log(ratio / FULL) / math.log(PASS / FULL)


def _errors(actual: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.longdouble]:
    """Return |actual - expected| in long double; 0 where correctly rounded, or where NaN is expected."""
    right = (actual == round_values(expected, actual.dtype)) | np.isnan(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(actual.astype(np.longdouble) - expected.astype(np.longdouble))
    return np.where(right, np.longdouble(0), errors)


def _ratio(error: np.longdouble, scale: np.longdouble) -> float:
    if error == 0.0:
        return 0.0
    return float(error / scale) if scale > 0.0 else math.inf


def _compute_floor(expected: NDArray[Any], dtype: np.dtype[Any]) -> np.longdouble:
    """Return eps * rms, or half an ulp of the largest output, without values beyond the dtype."""
    within = np.abs(expected[np.isfinite(round_values(expected, dtype))].astype(np.longdouble))
    size: np.longdouble = max(rms(within), within.max(initial=np.longdouble(0)) / 2)
    return np.longdouble(np.finfo(dtype).eps) * size


def _outputs(reply: NDArray[np.longdouble] | Sequence[NDArray[np.longdouble]]) -> list[NDArray[np.longdouble]]:
    return [reply] if isinstance(reply, np.ndarray | np.generic) else list(reply)


def _make_move(value: Any) -> Callable[[np.random.Generator], Any]:
    """Return a function that draws a half-ulp move of an argument; what every move needs is worked out once."""
    if not isinstance(value, np.ndarray | np.floating) or not np.issubdtype(value.dtype, np.floating):
        return lambda rng: value
    finite, wide = np.isfinite(value), value.astype(np.longdouble)
    half_ulp = np.where(finite, np.spacing(np.where(finite, np.abs(value), 0)).astype(np.longdouble) / 2, 0)
    up, down = wide + half_ulp, wide - half_ulp
    return lambda rng: np.where(rng.integers(0, 2, size=value.shape), up, down)


def _measure_movement(base: NDArray[np.longdouble], moved: NDArray[np.longdouble]) -> float:
    finite = np.isfinite(base) & np.isfinite(moved)
    if not finite.all():
        base, moved = base[finite], moved[finite]
    return float(np.abs(moved.astype(np.longdouble, copy=False) - base).max(initial=0.0))
