"""Probes that run with every memory access watched: what is touched, and in what order.

Buffers are as long as they must be, without guards: one number further is out of bounds. Values are another probe's
matter, unless they are wrong only here: what is watched must be what is graded.
"""

import numpy as np

from harness.cuda.report import DeviceDefect, Report
from harness.probing import Answer, Draw, ProbeFailure, located, probe

from .binding import Floats, call, launch, normal, served, spaced
from .judging import same_work

ORDER = {
    "shared_race": "threads race for shared memory",
    "global_race": "threads race for global memory",
    "barrier_divergence": "threads of a block part at a barrier",
    "inactive_lane": "a lane takes what no lane gave",
    "deadlock": "threads wait for each other for ever",
    "runaway": "a kernel does not end",
}
"""Defects of the order in which threads work; all others are of what they touch."""
ILL = {
    "out_of_bounds": "memory out of bounds is touched",
    "uninitialized_read": "memory is read that nobody wrote",
    "misaligned": "a misaligned address is used",
}
SHAPES = (
    {"rows": 1, "vocab": 1, "k": 1}, {"rows": 2, "vocab": 31, "k": 7}, {"rows": 3, "vocab": 33, "k": 33},
    {"rows": 3, "vocab": 257, "k": 100}, {"rows": 5, "vocab": 1001, "k": 10}, {"rows": 2, "vocab": 3003, "k": 256},
)  # fmt: skip
SEEDS = (0, 1, 2, 3)


@probe(*SHAPES, floors={"k": 1}, traced=False)
def every_access_is_within_bounds(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """Nothing beside a buffer, unwritten, freed or misaligned is read or written."""
    _sound(answer, draw, spaced(draw, rows, vocab), served(answer, min(k, vocab)))


@probe({"vocab": 400, "k": 5}, {"vocab": 3003, "k": 256}, rows=2, traced=False)
def rising_rows_are_held_within_bounds(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """The same for rows of which every logit beats all before it: as many candidates as there can be."""
    logits = np.sort(spaced(draw, rows, vocab), axis=1)
    _sound(answer, draw, logits, served(answer, min(k, vocab)))


@probe(*({"shift": shift, "vocab": vocab} for shift in (4, 12) for vocab in (64, 1003)), rows=3, k=5, traced=False,
       fixed=("shift",))  # fmt: skip
def unaligned_logits_are_read_within_bounds(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, shift: int
) -> None:
    """The same for logits off a 16-byte boundary."""
    _sound(answer, draw, normal(draw, rows, vocab), served(answer, min(k, vocab)), shift=shift)


@probe(*SHAPES[1:], floors={"k": 1}, traced=False)
def threads_keep_their_order(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """No two threads use a place at once without order, whatever the schedule; all meet where one waits."""
    logits, k = spaced(draw, rows, vocab), served(answer, min(k, vocab))
    for seed in SEEDS:
        _refute(answer, _checked(answer, draw, logits, k, seed=seed), f"rows = {rows}, vocab = {vocab}, k = {k}", True)


@probe(*SHAPES, floors={"k": 1}, traced=False)
def what_is_watched_does_the_work(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """A run in which every access is watched, and found right, comes to the right values."""
    logits, k = spaced(draw, rows, vocab), served(answer, min(k, vocab))
    for seed in SEEDS[:2]:
        back = call(answer, draw, logits, k, mode="check", seed=seed, guard=0)
        if not back.report.found():
            same_work(back.launched(logits, k), lambda seed=seed: launch(answer, draw, logits, k, seed=seed))


def _sound(answer: Answer, draw: Draw, logits: Floats, k: int, shift: int = 0) -> None:
    report = _checked(answer, draw, logits, k, shift=shift)
    size = f"rows = {logits.shape[0]}, vocab = {logits.shape[1]}, k = {k}"
    _refute(answer, report, f"{size}, logits {shift} bytes off" if shift else size, False)


def _checked(answer: Answer, draw: Draw, logits: Floats, k: int, *, seed: int = 0, shift: int = 0) -> Report:
    back = call(answer, draw, logits, k, mode="check", seed=seed, shift=shift, guard=0)
    if back.code and not back.report.found():
        raise ProbeFailure("a legal call is refused", f"k = {k}: it returns {back.code}")
    if not back.report.launches:
        raise ProbeFailure("nothing is launched", f"k = {k}")
    return back.report


def _refute(answer: Answer, report: Report, size: str, order: bool) -> None:
    """No defect of the one class or the other."""
    if not report.found():
        return
    found = [defect for defect in located(answer, report).found() if (defect.kind in ORDER) == order]
    if not found:
        return
    first, *others = found
    kinds = ORDER if order else ILL
    title = kinds.get(first.kind, first.kind.replace("_", " "))
    more = f"; {len(others)} more such places" if others else ""
    raise ProbeFailure(title, f"{size}: {_told(first)}{more}", where=_place(first), diagnosis=_diagnosis(first))


def _told(defect: DeviceDefect) -> str:
    thread = f", block {defect.block[0]}, thread {defect.thread[0]}" if defect.block and defect.thread else ""
    kernel = f" in `{defect.kernel}`{thread}" if defect.kernel else ""
    times = f", {defect.count} times" if defect.count > 1 else ""
    return f"{defect.text}{kernel}{times}"


def _place(defect: DeviceDefect) -> str:
    return f"{defect.file}:{defect.line}" if defect.file and defect.line else ""


def _diagnosis(defect: DeviceDefect) -> str | None:
    place, other = _place(defect), defect.other
    if not place:
        return None
    if other is not None and other.file and other.line:
        return f"{place} and {other.file}:{other.line} use the same place without order"
    return f"it is done at {place}"
