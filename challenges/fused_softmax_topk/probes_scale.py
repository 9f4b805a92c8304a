"""Probes of logits of any size: only differences within a row count."""

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from harness.probing import Answer, Draw, FaultElsewhere, ProbeFailure, probe

from .binding import Floats, Launched, launch, serving
from .families import masked
from .judging import right, right_under

SHIFTS = (100.0, -100.0, 16384.0, -16384.0, -262144.0)
LEAST = "logits of minus the largest float give wrong results"
SHIFTED = "a shift of all logits changes the result"
GRID_BITS = 5
"""Multiples of 2^-5 stay exact when 262,144 is added in float32."""
END = 3.4e38
"""Near the largest float, and not that itself."""
Rows = Mapping[str, float]
"""What all logits of some rows are, by the title of what fails there."""


@probe(*({"rows": 2, "vocab": vocab, "k": 4, "shift": shift} for vocab in (33, 1200) for shift in SHIFTS),
       fixed=("rows", "k"), fit=serving)  # fmt: skip
def a_shift_of_all_logits_changes_nothing(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, shift: float
) -> None:
    """T06, T07: logits on a grid, plus a number that leaves them exact, have the probabilities they had."""
    logits = _grid(draw, rows, vocab)
    shifted = logits + np.float32(shift)
    right_under(SHIFTED, answer, draw, shifted, k, plainly=partial(launch, answer, draw, logits, k))


@probe({"vocab": 20, "gap": 80.0}, {"vocab": 1030, "gap": 80.0}, {"vocab": 1030, "gap": 1000.0},
       {"vocab": 1030, "gap": 3e38}, rows=3, k=3, fixed=("rows", "k"), floors={"vocab": 3}, fit=serving)  # fmt: skip
def far_logits_stay_right(answer: Answer, draw: Draw, *, rows: int, vocab: int, gap: float, k: int) -> None:
    """One logit far above the rest: its probability is 1, and others are as small as they must be, never NaN.

    They are judged by rows without it, and by rows that lie as high as a whole: where either is wrong, distance does
    not decide.
    """
    plain = _grid(draw, rows, vocab)
    logits = plain.copy()
    logits[np.arange(rows), draw.permutation(vocab)[:rows]] += np.float32(gap)

    def near(**more: Any) -> Launched:
        right(launch(answer, draw, plain, k, **more), answer, draw)
        return launch(answer, draw, plain + np.float32(gap), k, **more)

    right_under("logits far apart give wrong results", answer, draw, logits, k, plainly=near)


@probe(*({"vocab": vocab, "sign": sign} for sign in (1, -1) for vocab in (20, 1030)), rows=2, k=3,
       fixed=("rows", "k", "sign"), fit=serving)  # fmt: skip
def the_largest_and_smallest_floats_are_served(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, sign: int, k: int
) -> None:
    """Rows of which every logit is near the largest float, or near minus that: all the same, and far apart.

    They are judged by rows of zeros, and by logits as far apart below 0: where neither comes out right, size does not
    decide. Nor does it where rows go wrong already that lie as far from 0 as a shift takes them.
    """
    end, size = np.float32(sign * END), (rows, vocab)
    apart = (end * (1 - 2.0 ** -draw.uniform(*size, low=10, high=20))).astype(np.float32)
    pairs = [(logits, logits - logits.max(axis=1, keepdims=True)) for logits in (np.full(size, end), apart)]
    try:
        _each_right(_near_the_end(sign), answer, draw, pairs, k, {SHIFTED: _shifted(sign)})
    except FaultElsewhere:
        raise
    except ProbeFailure as wrong:
        served, least = int(np.log10(abs(_shifted(sign)))), int(np.log10(END))
        while least - served > 1:
            middle = (served + least) // 2
            right_there = _serves(answer, draw, np.full(size, sign * 10.0**middle, np.float32), k)
            served, least = (middle, least) if right_there else (served, middle)
        if least < int(np.log10(END)):
            wrong.title = f"logits of {'-' * (sign < 0)}1e{least} and beyond give wrong results"
        raise


@probe({"vocab": 9, "k": 3}, {"vocab": 1100, "k": 20}, rows=3, floors={"vocab": 2, "k": 2}, fit=serving)
def a_mask_of_the_smallest_float_is_served(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """Rows of minus the largest float alone, and rows in which it stands for what is masked.

    They are judged by rows of zeros, and by a mask of -10,000; and by rows that lie near minus the largest float, and
    less far below 0: where these are wrong the smallest float does not decide.
    """
    least, hidden = np.finfo(np.float32).min, masked(draw, rows, vocab, k).astype(np.float32)
    alone = np.full((rows, vocab), least, np.float32)
    pairs = [(alone, np.zeros_like(alone)), (hidden, np.maximum(hidden, np.float32(-10_000)))]
    milder = {SHIFTED: _shifted(-1), _near_the_end(-1): -END}
    try:
        _each_right(LEAST, answer, draw, pairs, k, milder)
    except FaultElsewhere:
        raise
    except ProbeFailure as wrong:
        above = np.concatenate([_grid(draw, rows, k), alone], axis=1)
        if _serves(answer, draw, above, k):
            wrong.title = f"{LEAST} where fewer than k lie above"
        raise


def _serves(answer: Answer, draw: Draw, logits: Floats, k: int) -> bool:
    """Return whether a launch gives right results."""
    with contextlib.suppress(ProbeFailure):
        right(launch(answer, draw, logits, k), answer, draw)
        return True
    return False


def _near_the_end(sign: int) -> str:
    return f"logits near {'minus ' * (sign < 0)}the largest float give wrong results"


def _shifted(sign: int) -> float:
    """Return the furthest shift of a sign."""
    return sign * max(sign * shift for shift in SHIFTS)


def _each_right(
    title: str, answer: Answer, draw: Draw, pairs: Sequence[tuple[Floats, Floats]], k: int, milder: Rows
) -> None:
    """Require logits to give right results where the plain ones beside them do, and rows of milder values.

    Raises:
        FaultElsewhere: no plain ones do, or milder values do not.
    """

    def plainly(near: Floats, **more: Any) -> Launched:
        for also, value in milder.items():
            alike = partial(launch, answer, draw, np.zeros_like(near), k)
            right_under(also, answer, draw, np.full_like(near, value), k, plainly=alike)
        return launch(answer, draw, near, k, **more)

    elsewhere = list[FaultElsewhere]()
    for logits, near in pairs:
        try:
            right_under(title, answer, draw, logits, k, plainly=partial(plainly, near))
        except FaultElsewhere as why:
            elsewhere.append(why)
    if len(elsewhere) == len(pairs):
        raise elsewhere[0]


def _grid(draw: Draw, rows: int, vocab: int) -> Floats:
    values: Floats = draw.grid(rows, vocab, dtype="float32", bits=GRID_BITS, span=8.0)
    return values
