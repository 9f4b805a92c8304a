"""Error ratios: how far an answer is from a long-double oracle, in units of what its inputs' rounding already costs.

A fixed tolerance fails both ways: it rejects right kernels on ill-conditioned inputs and accepts zeros where outputs
are small. The ratio divides the largest error by the problem's own conditioning (how far the exact outputs move when
every input moves by half an ulp), so one threshold serves every dtype, scale and offset.

Where the bounds come from: layer-norm forward and backward, float32 and float64, offsets 0 to 1e10
(tests/numerics/test_honest_arithmetic_passes.py repeats it). Pairwise sums stay near or below 4. Sequential sums and
Welford's update grow with the square root of the row: at most 24 up to 512 terms, about 20 and in 3 of 192 runs above
32 at 1,024 terms with an offset. Rows longer than 512 are therefore to be probed without a large offset.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics.special import first_mismatch, position, rounded

PASS = 32.0
"""Largest passing ratio: above the worst honest variant measured on rows of up to 512 terms (24)."""
FULL = 4.0
"""Largest ratio with full credit: what pairwise sums reach."""
PASS_CREDIT = 0.7
"""Credit of an answer that just passes."""
DRAWS = 8
"""Perturbations that a spread is the worst of. On one (4, 8, 64) input their choice moves the ratio of an honest layer
norm by 4 to 18 % (standard deviation over 50 seeds), less than fresh inputs do (15 to 35 %)."""

Oracle = Callable[..., NDArray[np.longdouble] | Sequence[NDArray[np.longdouble]]]
Number = bool | int | float


@dataclass(frozen=True, slots=True)
class Judged:
    """An error ratio with the position that set it."""

    ratio: float
    """0 for a correctly rounded answer, inf for a wrong shape, dtype, integer or special value."""
    index: tuple[int, ...] | None
    """Worst position; None where there is none to name (an empty array, a wrong shape or dtype)."""
    expected: Number
    got: Number

    @property
    def passed(self) -> bool:
        """Whether the ratio is at most `PASS`."""
        return self.ratio <= PASS


def conditioning(
    oracle: Oracle, inputs: Sequence[Any], rng: np.random.Generator, draws: int = DRAWS
) -> tuple[float, ...]:
    """Largest movement of each oracle output when every floating input moves by half an ulp, up or down at random.

    Args:
        oracle: called as `oracle(*inputs)`; returns one long-double array or a sequence of them.
        inputs: arguments in the dtype the answer receives them. Floating arrays and NumPy floats move by half an ulp
            of their own dtype, in long double; everything else, Python floats included, is passed as it is.
        rng: source of the signs.
        draws: perturbations; the worst one counts.

    Returns:
        One spread per output, finite and >= 0. Positions that are not finite do not count.
    """
    base = _outputs(oracle(*inputs))
    spreads = [0.0] * len(base)
    for _ in range(draws):
        moved = _outputs(oracle(*(_moved(value, rng) for value in inputs)))
        spreads = [max(s, _movement(b, m)) for s, b, m in zip(spreads, base, moved, strict=True)]
    return tuple(spreads)


def judge(actual: NDArray[Any], expected: NDArray[Any], spread: float) -> Judged:
    """Return the error ratio of an answer with its worst position.

    ratio = max|actual - expected| / max(spread, eps * rms(expected), eps/2 * max|expected|), eps that of the answer's
    dtype. The last term is what storing the largest output costs: without it a correctly rounded one-hot row of many
    entries would fail. Special values are compared first, as masks. With nothing to divide by (all zeros expected and
    no spread) any deviation is inf. An empty array has ratio 0. Integers and booleans round nothing: theirs is 0 where
    they are equal to what is expected, else inf.

    Args:
        actual: the answer's array; a wrong shape or kind of number is the answer's fault and has ratio inf.
        expected: the oracle's array.
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
    ratio = _ratio(errors[index], max(np.longdouble(spread), _floor(expected, actual.dtype)))
    return Judged(ratio, index, float(expected[index]), float(actual[index]))


def error_ratio(actual: NDArray[Any], expected: NDArray[Any], spread: float) -> float:
    """Return the ratio of `judge` alone."""
    return judge(actual, expected, spread).ratio


def worst(actual: NDArray[Any], wanted: NDArray[Any]) -> tuple[int, ...] | None:
    """Return where two arrays of one shape and dtype differ most, or None where they are equal.

    NaN is equal to NaN, and zeros of both signs are equal. Where integers, booleans or special values differ, it is the
    first such place.
    """
    if not (differ := unequal(actual, wanted)).any():
        return None
    if actual.dtype.kind != "f":
        return position(differ)
    mismatch = first_mismatch(actual, wanted)
    return mismatch.index if mismatch else position(_errors(actual, wanted))


def unequal(actual: Any, expected: Any) -> Any:
    """Return where the values of two arrays differ, whatever their dtypes; NaN is equal to NaN."""
    if actual.dtype.kind != expected.dtype.kind:  # a long double holds every integer of 64 bits, a float64 does not
        actual, expected = actual.astype(np.longdouble), expected.astype(np.longdouble)
    return (actual != expected) & ((actual == actual) | (expected == expected))


def comparable(actual: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    """Return whether results of a dtype can be right: floats where numbers are, integers where integers are."""
    kinds = {"f": "fiu", "i": "iu", "u": "iu", "b": "b"}
    return expected.kind in kinds.get(actual.kind, "")


def rms(values: NDArray[Any]) -> np.longdouble:
    """Return the root mean square of numbers whose squares may overflow or vanish; 0 where there are none."""
    wide = np.abs(values.astype(np.longdouble))
    largest: np.longdouble = wide.max(initial=np.longdouble(0))
    return largest * np.sqrt(np.mean((wide / largest) ** 2)) if largest > 0 else largest


def plain(value: Any) -> Number:
    """Return an entry of an array as a number of Python."""
    number: Number = float(value) if value.dtype.kind == "f" else value.item()
    return number


def credit(ratio: float) -> float:
    """Share of a numeric criterion earned: 1 up to `FULL`, log-linear down to 0.7 at `PASS`, 0 above and for NaN."""
    if not ratio <= PASS:
        return 0.0
    if ratio <= FULL:
        return 1.0
    return 1.0 - (1.0 - PASS_CREDIT) * math.log(ratio / FULL) / math.log(PASS / FULL)


def _errors(actual: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.longdouble]:
    """|actual - expected| in long double, 0 where the answer is correctly rounded or both are not finite alike."""
    right = (actual == rounded(expected, actual.dtype)) | np.isnan(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(actual.astype(np.longdouble) - expected.astype(np.longdouble))
    return np.where(right, np.longdouble(0), errors)


def _ratio(error: np.longdouble, scale: np.longdouble) -> float:
    if error == 0.0:
        return 0.0
    return float(error / scale) if scale > 0.0 else math.inf


def _floor(expected: NDArray[Any], dtype: np.dtype[Any]) -> np.longdouble:
    """Return what rounding the outputs alone may cost: eps * rms, or half an ulp of the largest.

    What lies beyond the dtype must be infinite, and excuses nothing in the other entries.
    """
    within = np.abs(expected[np.isfinite(rounded(expected, dtype))].astype(np.longdouble))
    size: np.longdouble = max(rms(within), within.max(initial=np.longdouble(0)) / 2)
    return np.longdouble(np.finfo(dtype).eps) * size


def _outputs(reply: NDArray[np.longdouble] | Sequence[NDArray[np.longdouble]]) -> list[NDArray[np.longdouble]]:
    return [reply] if isinstance(reply, np.ndarray | np.generic) else list(reply)


def _moved(value: Any, rng: np.random.Generator) -> Any:
    """`value` plus or minus half an ulp of its dtype, in long double; not finite or not floating: as it is."""
    if not isinstance(value, np.ndarray | np.floating) or not np.issubdtype(value.dtype, np.floating):
        return value
    finite = np.isfinite(value)
    half_ulp = np.spacing(np.where(finite, np.abs(value), 0)).astype(np.longdouble) / 2
    signs = rng.integers(0, 2, size=value.shape) * 2 - 1
    return np.where(finite, value.astype(np.longdouble) + signs * half_ulp, value)


def _movement(base: NDArray[np.longdouble], moved: NDArray[np.longdouble]) -> float:
    finite = np.isfinite(base) & np.isfinite(moved)
    return float(np.abs(moved[finite].astype(np.longdouble) - base[finite].astype(np.longdouble)).max(initial=0.0))
