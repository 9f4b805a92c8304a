"""Probes of several rows: each is written, and none sees another.

Where launches are compared, memory that nobody wrote holds NaN in both: what is read there is no other row.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from harness.probing import Answer, CallTimedOut, Draw, NotMeasurable, ProbeFailure, expect, probe
from harness.probing.failures import FaultElsewhere

from .binding import LARGEST_K, Floats, Launched, call, launch, normal, serving, spaced
from .judging import alive, legal_indices, require_right, right, right_under, tolerance

MIXED = "a row depends on other rows"
DISTURBED = "a row of NaN or infinities disturbs others"
HIGHEST = 100.0
"""Of falling rows the first lies so far above zero and the last so far below: exp() of the distance is beyond float32.
"""


@probe({"rows": 40}, {"rows": 1}, {"rows": 2}, {"rows": 3}, {"rows": 7}, {"rows": 33}, {"rows": 257}, vocab=67, k=3,
       fixed=("vocab", "k"), fit=serving)  # fmt: skip
def every_row_is_written(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """Any number of rows; every entry of both outputs holds something new, and is right where one row is."""
    run = launch(answer, draw, draw.normal(rows, vocab, dtype="float32"), k)
    with expect.only_beside(lambda: right(launch(answer, draw, run.logits[:1], run.k), answer, draw)):
        right(run, answer, draw)


@probe({"rows": 2, "vocab": 30, "k": 3}, {"rows": 6, "vocab": 531, "k": 20}, {"rows": 9, "vocab": 1301, "k": 64},
       floors={"rows": 2, "vocab": 2}, fit=serving)  # fmt: skip
def rows_together_equal_rows_alone(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T09: rows of very different scales and offsets come to the same together and each alone."""
    logits = scaled(draw, rows, vocab)
    together = launch(answer, draw, logits, k, fill="nan")
    with expect.only_beside(lambda: right(launch(answer, draw, logits[:1], k, fill="nan"), answer, draw)):
        legal_indices(together)
    alive(together)
    for row in range(rows):
        alone = launch(answer, draw, logits[row : row + 1], k, fill="nan")
        with expect.only_beside(lambda alone=alone: right(alone, answer, draw)):
            _agree(together, row, alone, 0, f"row {row} of {rows} and alone")


@probe({"rows": 3, "vocab": 40, "k": 4}, {"rows": 17, "vocab": 300, "k": 8}, floors={"rows": 2, "vocab": 2},
       fit=serving)  # fmt: skip
def the_order_of_rows_does_not_matter(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T10: rows in another order come to the same in that order."""
    logits, order = scaled(draw, rows, vocab), draw.permutation(rows)
    plain, moved = (launch(answer, draw, each, k, fill="nan") for each in (logits, np.ascontiguousarray(logits[order])))
    with expect.only_beside(lambda: right(launch(answer, draw, logits[:1], k, fill="nan"), answer, draw)):
        legal_indices(moved)
    alive(plain)
    if (moved.indices == plain.indices).all() and (moved.probs == plain.probs).all():
        raise FaultElsewhere("a call returns what an earlier one returned", f"rows = {rows}, in another order")
    for place, row in enumerate(order):
        _agree(moved, place, plain, int(row), f"row {row} at place {place}")


@probe(rows=2500, vocab=301, k=LARGEST_K, fixed=("rows", "vocab", "k"), slow_fails=False, fit=serving)
def falling_rows_are_right(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T09: more rows than a device runs blocks at once, each lower than all before it.

    A block that serves several rows may keep nothing of one for the next: a maximum, a sum, or a logit to be beaten.
    All blocks are run only where some leave a doubt, and first with fewer rows: a launch of all may take seconds.
    """
    fall = np.linspace(HIGHEST, -HIGHEST, rows, dtype=np.float32)
    logits = spaced(draw, rows, vocab, low=-1.0, high=1.0) + fall[:, None]
    if _seems_right(answer, draw, logits, k):
        return
    judge = lambda count: right(launch(answer, draw, logits[:count], k), answer, draw)  # noqa: E731
    with expect.only_beside(partial(judge, 1)):
        for count in (1, rows // 4, rows):
            judge(count)


@probe({"rows": 1100}, {"rows": 2500}, vocab=67, k=3, fixed=("rows", "vocab", "k"), slow_fails=False, fit=serving)
def rows_after_spoilt_ones_are_right(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T20: rows in whose first half, and in every seventh behind it, a logit is NaN or +inf; the others are right.

    Half of them are more than a device runs blocks at once: a sum or a maximum that is NaN stays so in the next row of
    a block unless it is set anew. Blocks are run as for falling rows.
    """
    logits, row = normal(draw, rows, vocab), np.arange(rows)
    good = (row >= rows // 2) & (row % 7 > 0)
    logits[~good, vocab // 3] = np.where(row % 2, np.nan, np.inf)[~good]
    if not _seems_right(answer, draw, logits, k, good):
        others = lambda **more: launch(answer, draw, logits, k, **more).part(good)  # noqa: E731
        right_under(DISTURBED, answer, draw, logits, k, launched=others)


def _seems_right(answer: Answer, draw: Draw, logits: Floats, k: int, good: NDArray[np.bool_] | bool = True) -> bool:
    """Say whether some blocks of a launch, those at both ends of its grid, write good rows, and only right ones."""
    try:
        back = call(answer, draw, logits, k, mode="sample")
        written = np.all([back.regions[name].changed[back.regions[name].inside].reshape(len(logits), k).all(axis=1)
                          for name in ("probs", "indices")], axis=0) & good  # fmt: skip
        if written.any():
            require_right(Launched.of(back, logits, k).part(written))
    except CallTimedOut:  # as all blocks then do
        raise
    except (ProbeFailure, NotMeasurable):
        return False
    return bool(written.any())


def scaled(draw: Draw, rows: int, vocab: int) -> Floats:
    """Rows whose largest logits lie 40 apart from row to row, up and down, and whose spreads differ by 100 times."""
    spread = 10.0 ** draw.uniform(rows, 1, low=-1.0, high=1.0)
    offset = 40.0 * (draw.permutation(rows)[:, None] - rows // 2)
    ladder = np.stack([np.linspace(-3, 3, vocab)[draw.permutation(vocab)] for _ in range(rows)])
    values: Floats = (offset + spread * ladder).astype(np.float32)
    return values


def _agree(one: Launched, row: int, other: Launched, place: int, doing: str) -> None:
    """Two results for the same logits are the same: equal logits in any order, probabilities but for rounding."""
    legal_indices(other)
    same = one.logits[row, one.indices[row]] == other.logits[place, other.indices[place]]
    if not same.all():
        entry = int(np.flatnonzero(~same)[0])
        got, wanted = int(one.indices[row, entry]), int(other.indices[place, entry])
        detail = f"{doing}: indices[{row}, {entry}] is {got} instead of {wanted}"
        raise ProbeFailure(MIXED, detail, where=f"indices[{row}, {entry}]", expected=wanted, got=got)
    limit = 2 * float(tolerance(one)[row].max())
    expect.same(f"probs of row {row}", one.probs[row], other.probs[place], MIXED, doing, within=limit)
