"""Exact decimal arithmetic."""

import math
from fractions import Fraction
from functools import lru_cache


@lru_cache(1 << 12)
def exact(value: float) -> Fraction:
    """Return the number as its decimal text reads: 0.1 is exactly one tenth."""
    return Fraction(repr(value))


def half_up(value: Fraction) -> Fraction:
    """Return the nearest integer; halves round up."""
    return Fraction(math.floor(value + Fraction(1, 2)))
