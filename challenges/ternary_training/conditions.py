"""Conditions under which a projection may fail whatever else is asked of it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.probing.conditions import Condition

from . import oracle
from .training import is_ternary

GROUP_SIZE = 32
"""Of a call of `project` that names none."""
PLAIN = (2.0**-16, 2.0**16)
"""Scales that are neither tiny nor huge."""


def _when(test: Callable[[Any, int], bool]) -> Callable[[str, Sequence[Any]], bool]:
    """Return whether a call projects a matrix, in groups of a size, that passes a test."""

    def met(function: str, args: Sequence[Any]) -> bool:
        if function == "gradients":
            weights, _, config = args
            return any(test(w, config["group_size"]) for name, w in weights.items() if is_ternary(name, w))
        given = {"project": args, "linear_forward": args[1:]}.get(function, ())
        if not given or np.ndim(given[0]) != 2 or (group := [*given, GROUP_SIZE][1]) < 1:
            return False
        return test(given[0], group)

    return met


def _has_a_short_group(w: Any, group: int) -> bool:
    return bool(w.shape[1] % group)


def _has_a_group_of_zeros(w: Any, group: int) -> bool:
    return bool((oracle.scales(w, group) == 0).any())


def _has_a_tiny_scale(w: Any, group: int) -> bool:
    scales = oracle.scales(w, group)
    return bool(((scales > 0) & (scales < PLAIN[0])).any())


def _has_a_huge_scale(w: Any, group: int) -> bool:
    return bool((oracle.scales(w, group) > PLAIN[1]).any())


def _has_an_extreme_scale(w: Any, group: int) -> bool:
    return _has_a_tiny_scale(w, group) or _has_a_huge_scale(w, group)


CONDITIONS = (
    Condition("the last group is short", "ragged_groups", _when(_has_a_short_group)),
    Condition("a group holds zeros alone", "zero_groups", _when(_has_a_group_of_zeros)),
    Condition("a scale is tiny", "extreme_scale", _when(_has_a_tiny_scale)),
    Condition("a scale is huge", "extreme_scale", _when(_has_a_huge_scale)),
    Condition("a scale is tiny or huge", "extreme_scale", _when(_has_an_extreme_scale)),
)
