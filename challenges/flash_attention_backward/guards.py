"""When faults made by machine act in an attention or its backward, and inputs that meet each of these conditions."""

from pathlib import Path

import numpy as np

from harness.probing import Answer, Draw
from harness.probing.guards import Guard

from .binding import Inputs, draw_inputs, results
from .bounds import require_within, right_and_bounds
from .flash_attention.triggers import drivers_of, guards_of, small

ROUGH = 60_000
"""Scores from which on the oracle works in float64."""


def judged(answer: Answer, draw: Draw, given: Inputs) -> None:
    """Both passes, right in every output."""
    B, H, N, _ = given.q.shape
    require_within(results(answer, given), *right_and_bounds(given, rough=B * H * N * N > ROUGH))


def with_zero_do(draw: Draw, given: Inputs, t: int) -> Inputs:
    """A row of do is zero."""
    do = given.do.copy()
    do[-1, -1, draw.integer(1, do.shape[2] - 1)] = 0.0
    return given.but(do=do)


def with_large_do(draw: Draw, given: Inputs, t: int) -> Inputs:
    """An entry of do is above 10^t."""
    return given.but(do=given.do / np.abs(given.do).max() * 10.0**t * 3)


DRIVERS = drivers_of(draw_inputs, results, judged)
GUARDS = guards_of(
    DRIVERS,
    900,
    150,
    Guard("zero row of do", DRIVERS.of(small, with_zero_do), "zero_do()"),
    Guard("do > 10^t", DRIVERS.of(small, with_large_do), "largest_do() > 10.0 ** {t}", low=1, high=9),
    names=Path(__file__).with_name("guard_names.py").read_text(encoding="utf-8"),
)
