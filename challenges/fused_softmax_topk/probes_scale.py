"""Probes of logits of any size: only differences within a row count."""

from functools import partial

import numpy as np

from harness.probing import Answer, Draw, probe

from .binding import Floats, launch, serving
from .judging import is_right, right_under

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


@probe(*({"vocab": vocab, "sign": sign} for sign in (1, -1) for vocab in (20, 1030)), rows=2, k=3,
       fixed=("rows", "k", "sign"), fit=serving)  # fmt: skip
def the_largest_and_smallest_floats_are_served(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, sign: int, k: int
) -> None:
    """Rows of which every logit is near the largest float, or near minus that: all the same, and far apart.

    They are judged where rows of zeros, and logits as far apart below 0, come out right: else size does not decide.
    """
    end, size = np.float32(sign * 3.4e38), (rows, vocab)
    title = f"logits near {'minus ' * (sign < 0)}the largest float give wrong results"
    apart = (end * (1 - 2.0 ** -draw.uniform(*size, low=10, high=20))).astype(np.float32)
    for logits in (np.full(size, end), apart):
        near = logits - logits.max(axis=1, keepdims=True)
        if is_right(lambda near=near: launch(answer, draw, near, k), answer, draw):
            right_under(title, answer, draw, logits, k, plainly=partial(launch, answer, draw, near, k))


def _grid(draw: Draw, rows: int, vocab: int) -> Floats:
    values: Floats = draw.grid(rows, vocab, dtype="float32", bits=GRID_BITS, span=8.0)
    return values
