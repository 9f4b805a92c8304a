"""Argument checks: every call is refused as a whole, with a ValueError, before anything is written."""

from collections.abc import Sequence
from typing import Any

import numpy as np

DTYPES = ("float32", "float64")


def check_integers(what: str, values: Sequence[Any], low: int, high: int | None = None) -> list[int]:
    """The values as Python integers; each must be an integer of low .. high."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{what} must be integers, not {value!r}")
        if value < low or (high is not None and value > high):
            raise ValueError(f"{what} must be in {low} .. {'any' if high is None else high}, not {value}")
    return [int(value) for value in values]


def check_distinct(slots: Sequence[int]) -> None:
    """No slot may be named twice, and at least one must be."""
    if len(set(slots)) != len(slots) or not slots:
        raise ValueError(f"slots must be distinct, and at least one: {slots}")


def check_array(name: str, array: Any, shape: tuple[int, ...], dtype: str) -> None:
    """The array must have exactly this shape and dtype."""
    if np.shape(array) != shape or np.asarray(array).dtype != dtype:
        raise ValueError(f"{name} must be {shape} of {dtype}, not {np.shape(array)} of {np.asarray(array).dtype}")
