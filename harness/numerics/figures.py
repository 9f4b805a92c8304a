"""Pairs of figures as text, with enough digits to show their difference."""

import math
from numbers import Integral
from typing import Any

import numpy as np

DIGITS = 9
"""Digits of a figure, if they suffice to distinguish it."""
MOST_DIGITS = 17
"""Digits that distinguish any two 64-bit floats; wider ones, and integers beside floats, are written in full."""


def distinct(one: Any, other: Any, digits: int = DIGITS) -> tuple[str, str]:
    """Return two numbers as texts of equally many digits, at least `digits`, that differ if the numbers do."""
    if isinstance(one, Integral | np.bool_) and isinstance(other, Integral | np.bool_):
        return str(one), str(other)
    for shown in range(digits, MOST_DIGITS + 1):
        texts = _text(one, shown), _text(other, shown)
        if one == other or texts[0] != texts[1]:
            return texts
    return texts if math.isnan(one) else (str(one), str(other))


def instead(got: Any, expected: Any) -> str:
    """Return both numbers as in `0.46889301203 instead of 0.46889301204`."""
    return " instead of ".join(distinct(got, expected))


def beyond_rounding(got: Any, expected: Any, bound: Any) -> str:
    """Return `instead` with the error and the bound that rounding explains."""
    if not (math.isfinite(got) and math.isfinite(expected)):
        return f"{instead(got, expected)}; rounding may cost {_text(bound, 2)}"
    error, allowed = distinct(abs(got - expected), bound, 2)
    return f"{instead(got, expected)}, off by {error}; rounding may cost {allowed}"


def _text(number: Any, digits: int) -> str:
    return "NaN" if math.isnan(number) else f"{float(number):.{digits}g}"
