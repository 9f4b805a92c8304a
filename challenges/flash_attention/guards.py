"""When faults made by machine act in an attention, and inputs that meet each of these conditions."""

from harness.probing import Answer, Draw

from .binding import Inputs, attention, draw_inputs
from .bounds import require_within, right_and_bound
from .triggers import drivers_of, guards_of

MANY = 300_000
"""Scores up to which all rows are judged."""


def judged(answer: Answer, draw: Draw, given: Inputs) -> None:
    """One call, right at every row, of long sequences at many."""
    B, H, N, _ = given.q.shape
    rows = None if B * H * N * N <= MANY else sorted({0, N - 1, *map(int, draw.rng.integers(0, N, 100))})
    require_within(attention(answer, given), *right_and_bound(given, rows), rows)


GUARDS = guards_of(drivers_of(draw_inputs, attention, judged), longest=1200, farthest=200)
