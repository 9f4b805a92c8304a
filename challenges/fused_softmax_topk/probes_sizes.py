"""Probes of drawn sizes: any number of rows and columns, any k, whatever the logits are and whatever went before."""

from typing import Any

import numpy as np

from harness.probing import Answer, Draw, expect, probe
from harness.probing.sizes import SMALLEST_SHARE, Axis, Case, Drawn

from .alignment import aligned
from .binding import LARGEST_K, Floats, Launched, call, launch, max_k, serving
from .families import ORDINARY, SPECIAL, good_rows, logits_of
from .infinities import right_with_infinities
from .judging import right

ROWS, VOCAB = 1500, 60_000
RISING = (17_000, 40_000)
"""Columns of a row that rises from the first to the last."""
ASKED = ("drawn", "drawn", "drawn", "most", "one less", "one")
"""Which k is asked for: as drawn, the most that vocab and the answer's limit allow, one less, or 1."""
BEFORE = ("nothing", "other sizes", "other logits", "a larger k", "longer rows", "shorter rows", "a refused call")
"""What the same process was asked just before."""
SHIFTS = (0, 4, 8, 12)
"""Bytes by which the logits are off a 16-byte boundary."""
BLOCK = 200.0
"""Microseconds of the emulated device for a block of 256 threads that does little."""
COLUMN = 0.7
"""Microseconds for each of a row's first columns, of which all may be candidates."""
FIRST = 2500
READ = 0.15
"""Microseconds for any logit: to read it, and to judge it in extended precision."""
MOST_SHORT_ROWS = 100
FREE = 40
"""Rows that a launch may have whatever it costs: else most launches of many rows would have single columns."""


def _cost(rows: int, vocab: int, k: int) -> float:
    """About how many microseconds one launch takes that gives each row a block, and its judging."""
    return max(rows - FREE, 0) * BLOCK + rows * (COLUMN * min(vocab, FIRST) + READ * vocab)


@probe(
    drawn=Drawn(
        {"vocab": Axis(1, VOCAB), "rows": Axis(1, ROWS), "k": Axis(1, LARGEST_K)},
        count=112, cost=_cost, most=120_000.0,
        choices={"family": ORDINARY, "asked": ASKED, "before": BEFORE, "shift": SHIFTS},
    ),
    fit=lambda answer, case: aligned(answer, _with_asked_k(answer, case)),
)  # fmt: skip
def any_size_is_right(
    answer: Answer, draw: Draw, *, vocab: int, rows: int, k: int, family: str, asked: str, before: str, shift: int
) -> dict[str, float]:
    """T01 to T05, T09, T13 at sizes nobody chose: each row's k largest and their probabilities."""
    _call_before(answer, draw, before, rows, vocab, k, shift)
    run = launch(answer, draw, logits_of(draw, family, rows, vocab, k), k, shift=shift)
    expect.that(run.kept, "the logits are changed", f"rows = {rows}, vocab = {vocab}, k = {k}")
    return {"error_ratio_any_size": _right(run, answer, draw)}


@probe(
    drawn=Drawn(
        {"vocab": Axis(1, VOCAB), "rows": Axis(1, ROWS), "k": Axis(1, LARGEST_K)},
        count=18, cost=_cost, most=40_000.0,
        choices={"family": SPECIAL, "asked": ASKED, "before": BEFORE, "shift": SHIFTS},
    ),
    fit=lambda answer, case: aligned(answer, _with_asked_k(answer, case)),
)  # fmt: skip
def special_logits_at_any_size(
    answer: Answer, draw: Draw, *, vocab: int, rows: int, k: int, family: str, asked: str, before: str, shift: int
) -> None:
    """T20 at sizes nobody chose: logits of -inf, and rows with NaN or +inf between good ones."""

    def called(logits: Floats, **more: Any) -> Launched:
        _call_before(answer, draw, before, rows, vocab, k, shift)
        run = launch(answer, draw, logits, k, shift=shift, **more)
        return run.part(good_rows(logits))

    logits = logits_of(draw, family, rows, vocab, k)
    if good_rows(logits).any():
        title = f"logits of the family `{family}` are not served"
        right_with_infinities(title, answer, draw, logits, k, called)


@probe(
    drawn=Drawn(
        {"vocab": Axis(LARGEST_K, 6000)}, count=2 * LARGEST_K, cost=lambda vocab: vocab, most=6000.0,
        choices={"k": tuple(range(1, LARGEST_K + 1)), "rows": (2,), "family": ORDINARY, "shift": SHIFTS,
                 "before": (*("nothing",) * 15, "a refused call")},
        covered=LARGEST_K, brief=FIRST / SMALLEST_SHARE, in_turn=LARGEST_K,
    ),
    fit=lambda answer, case: aligned(answer, {**case, "k": 1 + (case["k"] - 1) % max_k(answer)}),
)  # fmt: skip
def any_k_is_right(
    answer: Answer, draw: Draw, *, vocab: int, rows: int, k: int, family: str, shift: int, before: str
) -> dict[str, float]:
    """T01 to T05 for each k there is: of a row of any length up to some thousands, and of the same row falling.

    Every candidate of a falling row comes first: what keeps one too few of them finds no other later.
    """
    _call_before(answer, draw, before, rows, vocab, k, shift)
    row = logits_of(draw, family, 1, vocab, k)
    run = launch(answer, draw, np.vstack([row, -np.sort(-row)]), k, shift=shift)
    return {"error_ratio_any_k": _right(run, answer, draw)}


@probe(
    drawn=Drawn(
        {"vocab": Axis(1, 300), "k": Axis(1, LARGEST_K)}, count=MOST_SHORT_ROWS,
        choices={"rows": tuple(range(1, MOST_SHORT_ROWS + 1)), "family": ORDINARY},
    ),
    fit=serving,
)  # fmt: skip
def any_number_of_short_rows_is_right(
    answer: Answer, draw: Draw, *, vocab: int, rows: int, k: int, family: str
) -> dict[str, float]:
    """T01 to T05, T09 for each number of rows up to a hundred."""
    run = launch(answer, draw, logits_of(draw, family, rows, vocab, k), k)
    return {"error_ratio_short_rows": _right(run, answer, draw)}


@probe(
    drawn=Drawn({"vocab": Axis(*RISING)}, count=2, choices={"k": (LARGEST_K, 5), "shift": SHIFTS}),
    fit=lambda answer, case: aligned(answer, serving(answer, case)),
)
def a_row_that_rises_is_right(answer: Answer, draw: Draw, *, vocab: int, k: int, shift: int) -> dict[str, float]:
    """T02 of a row in which each logit beats all before it: a store of candidates must never run over."""
    run = launch(answer, draw, np.sort(draw.normal(1, vocab, dtype="float32")), k, shift=shift)
    return {"error_ratio_rising": _right(run, answer, draw)}


def _with_asked_k(answer: Answer, case: Case) -> Case:
    """Return a case whose k is the one that its `asked` names, within what the answer serves."""
    most = min(case["vocab"], max_k(answer))
    ks = {"drawn": min(case["k"], most), "most": most, "one less": max(most - 1, 1), "one": 1}
    return {**case, "k": ks[case["asked"]]}


def _call_before(answer: Answer, draw: Draw, what: str, rows: int, vocab: int, k: int, shift: int) -> None:
    """A call that must leave nothing behind; that on other logits has their size and, up to 50 rows, their address."""
    if what == "other sizes":
        rows, vocab = draw.integer(1, 40), draw.integer(1, 3000)
        k = min(draw.integer(1, LARGEST_K), vocab, max_k(answer))
    elif what == "a larger k":
        rows, k = min(rows, 7), min(vocab, max_k(answer))
    elif what in ("longer rows", "shorter rows"):
        rows, vocab = min(rows, 7), max(vocab + (1 if what == "longer rows" else -1) * draw.integer(1, 9), 1)
        k = min(k, vocab)
    elif what == "other logits":
        rows = min(rows, 50)
    elif what == "a refused call":
        call(answer, draw, draw.normal(2, min(vocab, 500), dtype="float32"), vocab + 1)
    if what not in ("nothing", "a refused call"):
        shift = shift if what == "other logits" else 0
        _right(launch(answer, draw, draw.normal(rows, vocab, dtype="float32"), k, shift=shift), answer, draw)


def _right(run: Launched, answer: Answer, draw: Draw) -> float:
    """The error ratio of the rows that are specified."""
    good = good_rows(run.logits)
    return right(run.part(good), answer, draw) if good.any() else 0.0
