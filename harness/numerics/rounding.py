"""Exact decimal arithmetic: numbers as they are written, and rounding that treats ties as ties."""

import math
from fractions import Fraction
from functools import lru_cache


@lru_cache(1 << 12)
def exact(value: float) -> Fraction:
    """The number as it is written in decimal: 0.1 is one tenth, so that ties at .5 are ties."""
    return Fraction(repr(value))


def half_up(value: Fraction) -> Fraction:
    """The nearest whole number; halves go up."""
    return Fraction(math.floor(value + Fraction(1, 2)))
