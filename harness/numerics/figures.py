"""Two figures in words: with as many digits as it takes until what differs reads differently."""

import math
from numbers import Integral
from typing import Any

import numpy as np

DIGITS = 9
"""Digits of a figure, where more are not needed to tell it from the one beside it."""
MOST_DIGITS = 17
"""So many tell any two numbers of 64 bits apart; wider ones, and integers beside floats, are written in full."""


def distinct(one: Any, other: Any, digits: int = DIGITS) -> tuple[str, str]:
    """Return two numbers as texts that differ where the numbers do, each with `digits` digits or more.

    A number that is larger than another one also reads so, for both have equally many digits.
    """
    if isinstance(one, Integral | np.bool_) and isinstance(other, Integral | np.bool_):
        return str(one), str(other)
    for shown in range(digits, MOST_DIGITS + 1):
        texts = _text(one, shown), _text(other, shown)
        if one == other or texts[0] != texts[1]:
            return texts
    return texts if math.isnan(one) else (str(one), str(other))


def instead(got: Any, expected: Any) -> str:
    """Return `got` and what it should be, as `0.46889301203 instead of 0.46889301204`."""
    return " instead of ".join(distinct(got, expected))


def beyond_rounding(got: Any, expected: Any, bound: Any) -> str:
    """Return `instead` of them, with how far off that is and the lower figure that rounding may cost."""
    if not (math.isfinite(got) and math.isfinite(expected)):
        return f"{instead(got, expected)}; rounding may cost {_text(bound, 2)}"
    error, allowed = distinct(abs(got - expected), bound, 2)
    return f"{instead(got, expected)}, off by {error}; rounding may cost {allowed}"


def _text(number: Any, digits: int) -> str:
    return "NaN" if math.isnan(number) else f"{float(number):.{digits}g}"
