"""Probes of logits of any size: only differences within a row count."""

from functools import partial

import numpy as np

from harness.probing import Answer, Draw, probe

from .binding import Floats, launch, serving
from .judging import right_under

SHIFTS = (100.0, -100.0, 16384.0, -16384.0, -262144.0)
GRID_BITS = 5
"""Multiples of 2^-5 stay exact when 262,144 is added in float32."""


@probe(*({"rows": 2, "vocab": vocab, "k": 4, "shift": shift} for vocab in (33, 1200) for shift in SHIFTS),
       fixed=("rows", "k"), fit=serving)  # fmt: skip
def a_shift_of_all_logits_changes_nothing(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, shift: float
) -> None:
    """T06, T07: logits on a grid, plus a number that leaves them exact, have the probabilities they had."""
    logits = _grid(draw, rows, vocab)
    title, shifted = "a shift of all logits changes the result", logits + np.float32(shift)
    right_under(title, answer, draw, shifted, k, plainly=partial(launch, answer, draw, logits, k))


@probe({"vocab": 20, "gap": 80.0}, {"vocab": 1030, "gap": 80.0}, {"vocab": 1030, "gap": 1000.0},
       {"vocab": 1030, "gap": 3e38}, rows=3, k=3, fixed=("rows", "k"), fit=serving)  # fmt: skip
def far_logits_stay_right(answer: Answer, draw: Draw, *, rows: int, vocab: int, gap: float, k: int) -> None:
    """One logit far above the rest: its probability is 1, and others are as small as they must be, never NaN."""
    plain = _grid(draw, rows, vocab)
    logits = plain.copy()
    logits[np.arange(rows), draw.permutation(vocab)[:rows]] += np.float32(gap)
    title = "logits far apart give wrong results"
    right_under(title, answer, draw, logits, k, plainly=partial(launch, answer, draw, plain, k))


@probe({"vocab": 20}, {"vocab": 1030}, rows=2, k=3, fixed=("rows", "k"), fit=serving)
def the_largest_and_smallest_floats_are_served(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """Rows of which every logit is near the largest float, or near the smallest."""
    end = np.float32(3.4e38)
    below = 2.0 ** -draw.uniform(rows, vocab, low=10, high=20)
    logits = (np.where(np.arange(rows)[:, None] % 2, -end, end) * (1 - below)).astype(np.float32)
    title, plain = "logits near the largest float give wrong results", np.ldexp(logits, -120)
    right_under(title, answer, draw, logits, k, plainly=partial(launch, answer, draw, plain, k))


def _grid(draw: Draw, rows: int, vocab: int) -> Floats:
    values: Floats = draw.grid(rows, vocab, dtype="float32", bits=GRID_BITS, span=8.0)
    return values
