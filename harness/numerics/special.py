"""Special values: masks of NaN, +inf and -inf, compared before any finite value.

A tolerance cannot judge them: an expected NaN hides any reply, and inf - inf is NaN.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAMES = ("a finite value", "NaN", "+inf", "-inf")


@dataclass(frozen=True, slots=True)
class SpecialMismatch:
    """The first difference in kind (finite, NaN, +inf, -inf) of two arrays."""

    index: tuple[int, ...]
    """First such position, in C order."""
    expected: float
    got: float
    count: int
    """Number of such positions."""
    size: int
    """Number of positions compared."""

    def __str__(self) -> str:
        got = repr(self.got) if np.isfinite(self.got) else _NAMES[_kind(self.got)]
        right = _NAMES[_kind(self.expected)]
        return f"{got} at {self.index} where {right} is right; {self.count} of {self.size} positions differ so"


def first_mismatch(actual: NDArray[Any], expected: NDArray[Any]) -> SpecialMismatch | None:
    """Compare the special values of two floating arrays of one shape; return None if equal.

    `expected` is first rounded to the dtype of `actual`; values beyond its range become infinite.
    """
    expected = round_values(expected, actual.dtype)
    if np.isfinite(actual).all() and np.isfinite(expected).all():
        return None
    differ = _kinds(actual) != _kinds(expected)
    count = int(differ.sum())
    if count == 0:
        return None
    index = position(differ)
    return SpecialMismatch(index, float(expected[index]), float(actual[index]), count, differ.size)


def round_values(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Round values to a floating `dtype`; out-of-range ones silently become infinite or zero."""
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(dtype)


def position(scores: NDArray[Any]) -> tuple[int, ...]:
    """Return the index of the largest entry of a non-empty array, the first in C order."""
    return tuple(int(i) for i in np.unravel_index(int(scores.argmax()), scores.shape))


def _kind(value: float) -> int:
    return int(_kinds(np.asarray(value)))


def _kinds(values: NDArray[Any]) -> NDArray[np.int8]:
    # positions in `_NAMES`
    kinds: NDArray[np.int8] = np.select([np.isnan(values), values == np.inf, values == -np.inf], [1, 2, 3])
    return kinds
