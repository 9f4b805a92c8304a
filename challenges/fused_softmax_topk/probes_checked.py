"""Probes that run with every memory access watched: what is touched, and in what order.

Buffers are as long as they must be, without guards: one number further is out of bounds. Values are another probe's
matter, unless they are wrong only here: what is watched must be what is graded.
"""

import numpy as np

from harness.probing import Answer, Draw, ProbeFailure, probe
from harness.probing.checked import require_order, require_sound_accesses
from harness.probing.sizes import Axis, Drawn

from .alignment import ALIGNMENT, aligned
from .binding import LARGEST_K, Floats, Launched, call, launch, normal, serving, spaced, watch
from .judging import same_work

SHAPES = (
    {"rows": 1, "vocab": 1, "k": 1}, {"rows": 2, "vocab": 31, "k": 7}, {"rows": 3, "vocab": 33, "k": 33},
    {"rows": 3, "vocab": 257, "k": 100}, {"rows": 5, "vocab": 1001, "k": 10}, {"rows": 2, "vocab": 3003, "k": 256},
)  # fmt: skip
UNEVEN = (
    {"rows": 1, "vocab": 8197, "k": 33}, {"rows": 1, "vocab": 20_483, "k": 100}, {"rows": 1, "vocab": 66_051, "k": 40},
    {"rows": 131, "vocab": 45, "k": 6},
)  # fmt: skip
"""Where work is divided, and the last of those who share it has less of it, or none."""
SEEDS = (0, 1, 2, 3)


@probe(*SHAPES, floors={"k": 1}, traced=False, fit=serving)
def every_access_is_within_bounds(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """Nothing beside a buffer, unwritten, freed or misaligned is read or written."""
    _sound(answer, draw, spaced(draw, rows, vocab), k)


@probe(
    *({**sizes, "order": "random", "shift": 0} for sizes in UNEVEN), traced=False,
    drawn=Drawn(
        {"vocab": Axis(1, 100_000), "rows": Axis(1, 200), "k": Axis(1, LARGEST_K)}, count=24,
        cost=lambda rows, vocab, k: rows * (300 + vocab), most=120_000, brief=60_000,
        choices={"order": ("random", "rising", "falling"), "shift": (0, 4, 8)},
    ),
    fit=lambda answer, case: aligned(answer, serving(answer, case)),
)  # fmt: skip
def any_division_of_work_is_held_within_bounds(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, order: str, shift: int
) -> None:
    """The same where rows are divided among blocks or share them, in parts of unequal size."""
    logits = spaced(draw, rows, vocab)
    if order != "random":
        logits = np.ascontiguousarray(np.sort(logits, axis=1)[:, :: 1 if order == "rising" else -1])
    _sound(answer, draw, logits, k, shift=shift)


@probe({"vocab": 400, "k": 5}, {"vocab": 3003, "k": 256}, rows=2, traced=False, fit=serving)
def rising_rows_are_held_within_bounds(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """The same for rows of which every logit beats all before it: as many candidates as there can be."""
    logits = np.sort(spaced(draw, rows, vocab), axis=1)
    _sound(answer, draw, logits, k)


@probe(*({"array": "logits", "shift": shift, "vocab": vocab, "k": 5} for shift in (4, 12) for vocab in (1000, 1003)),
       *({"array": output, "shift": 4, "vocab": 1000, "k": 8} for output in ("probs", "indices")), rows=3,
       traced=False, fixed=("array", "shift"), fit=serving)  # fmt: skip
def unaligned_arrays_are_held_within_bounds(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, array: str, shift: int
) -> None:
    """The same for logits, or an output, off a 16-byte boundary."""
    _sound(answer, draw, normal(draw, rows, vocab), k, shift, array)


@probe(*SHAPES[1:], *UNEVEN[2:], floors={"k": 1}, traced=False, fit=serving)
def threads_keep_their_order(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """No two threads use a place at once without order, whatever the schedule; all meet where one waits."""
    logits = spaced(draw, rows, vocab)
    where = f"rows = {rows}, vocab = {vocab}, k = {k}"
    for seed in SEEDS:
        require_order(answer, watch(answer, draw, logits, k, mode="check", seed=seed, guard=0), where)


@probe(*SHAPES, floors={"k": 1}, traced=False, fit=serving)
def what_is_watched_does_the_work(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """A run in which every access is watched, and found right, comes to the right values."""
    logits = spaced(draw, rows, vocab)
    for seed in SEEDS[:2]:
        back = call(answer, draw, logits, k, mode="check", seed=seed, guard=0)
        if not back.report.found():
            run = Launched.of(back, logits, k)
            same_work(lambda run=run: run, lambda seed=seed: launch(answer, draw, logits, k, seed=seed))


def _sound(answer: Answer, draw: Draw, logits: Floats, k: int, shift: int = 0, array: str = "logits") -> None:
    where = f"rows = {logits.shape[0]}, vocab = {logits.shape[1]}, k = {k}"
    astray = f", {array} {shift} bytes off" if shift else ""
    shifts = {"shift": shift} if array == "logits" else {"output_shifts": {array: shift}}
    report = watch(answer, draw, logits, k, astray, mode="check", guard=0, **shifts)
    try:
        require_sound_accesses(answer, report, f"{where}{astray}")
    except ProbeFailure as why:
        if shift and _is_sound(answer, draw, logits, k):
            why.fault_of = ALIGNMENT
        raise


def _is_sound(answer: Answer, draw: Draw, logits: Floats, k: int) -> bool:
    """Say whether the same launch is sound with all on a 16-byte boundary."""
    try:
        _sound(answer, draw, logits, k)
    except ProbeFailure:
        return False
    return True
