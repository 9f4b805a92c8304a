"""Probes of the probabilities: against the oracle, and by the laws of softmax."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import distinct
from harness.probing import Answer, Draw, ProbeFailure, expect, probe
from harness.probing.failures import CallRefused, Spared, WrongOutputs

from .binding import LARGEST_K, SIZES, Floats, Launched, normal, served, serving, spaced
from .binding import launch as launch_any
from .judging import alive, legal_indices, right, right_choice, right_probabilities, right_under, tolerance
from .rounding import UNIT

SMALL = {"rows": 2, "vocab": 5, "k": 2}
MIDDLE = {"rows": 3, "vocab": 100, "k": 8}
LARGE = {"rows": 5, "vocab": 3001, "k": 32}
FAR_BELOW = "thousands of logits far below the largest give wrong probabilities"


@probe(MIDDLE, SMALL, LARGE, floors={"vocab": 2}, fit=serving)
def probabilities_match_the_oracle(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> dict[str, float]:
    """T01, T02: each probability is the softmax, over the whole row, of the column named beside it."""
    run = launch(answer, draw, normal(draw, rows, vocab), k)
    ratio = right_probabilities(run)
    alive(run)
    return {"error_ratio": ratio}


@probe(rows=4, vocab=777, k=16, floors={"vocab": 2, "k": 2}, fit=serving)
def probabilities_keep_their_proportions(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T16: P_a / P_b = exp(x_a - x_b), whatever the sum below is."""
    run = launch(answer, draw, normal(draw, rows, vocab), k)
    alive(run)
    legal_indices(run)
    x = np.take_along_axis(run.logits, run.indices, axis=1).astype(np.longdouble)
    wanted = np.exp(x - x[:, :1])
    got = run.probs.astype(np.longdouble) / run.probs[:, :1]
    gap = np.abs(got / wanted - 1) / (tolerance(run) + tolerance(run)[:, :1])
    worst = float(np.nan_to_num(gap, nan=np.inf).max())
    if worst > 1:
        right_choice(run, answer, draw)  # else the probabilities may be those of the columns that should be named
        raise ProbeFailure("probabilities are not in proportion to exp(logit)", f"off by {worst:.3g} times rounding")


@probe({"vocab": 40, "at": 0}, {"vocab": 40, "at": 39}, {"vocab": 2003, "at": 0}, {"vocab": 2003, "at": 1301},
       {"vocab": 2003, "at": 2002}, floors={"vocab": 2, "at": 0}, rows=2, k=4)  # fmt: skip
def the_maximum_may_come_at_any_column(answer: Answer, draw: Draw, *, rows: int, vocab: int, at: int, k: int) -> None:
    """A maximum far above, seen first or last: what was summed before it must be scaled down to it."""
    logits = normal(draw, rows, vocab)
    logits[:, at] = logits.max(axis=1) + np.float32(4)
    _right_probabilities_under("probabilities depend on where the maximum lies", answer, draw, logits, k)


@probe(*({"vocab": 4003, "depth": depth} for depth in (8.0, 12.0, 16.0)), rows=2, k=4,
       fixed=("rows", "depth", "k"))  # fmt: skip
def many_far_logits_are_summed(answer: Answer, draw: Draw, *, rows: int, vocab: int, depth: float, k: int) -> None:
    """A first logit above all the others, which are thousands: together they are worth more than sums may lose.

    Each is worth more than half a unit in the last place of the first, 2^-24: exp(-16.6). Deeper ones, added to it one
    by one, are lost in float32.
    """
    logits = normal(draw, rows, vocab) / 64
    logits[:, 0] = depth
    _right_probabilities_under(FAR_BELOW, answer, draw, logits, k)


@probe({"vocab": 7, "k": 3}, {"vocab": 1500, "k": 64}, rows=3, floors={"vocab": 2}, fit=serving)
def halves_merge_into_the_whole(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T18: the result for a row follows from those for its halves and the log-sum-exp of each."""
    half = vocab // 2
    logits = spaced(draw, rows, vocab)
    whole = launch(answer, draw, logits, k)
    alive(whole)
    parts = [launch(answer, draw, np.ascontiguousarray(part), min(k, part.shape[1]))
             for part in (logits[:, :half], logits[:, half:])]  # fmt: skip
    for run in (whole, *parts):
        legal_indices(run)
    sums = [_log_sum_exp(part) for part in parts]
    total = np.logaddexp(*sums)
    probs = np.concatenate([p.probs * np.exp(s - total)[:, None] for p, s in zip(parts, sums, strict=True)], axis=1)
    columns = np.concatenate([parts[0].indices, parts[1].indices + half], axis=1)
    order = np.argsort(-probs, axis=1)[:, :k]
    merged = np.take_along_axis(columns, order, axis=1)
    if not (np.sort(merged) == np.sort(whole.indices)).all():
        right_choice(whole, answer, draw)
        raise ProbeFailure("halves do not merge into the whole", "other columns are chosen")
    gap = np.abs(np.take_along_axis(probs, order, axis=1) / whole.probs - 1)
    limit = float(4 * tolerance(whole).max())
    worst = float(np.nan_to_num(gap, nan=np.inf).max())
    off, allowed = distinct(worst, limit, 3)
    seen = f"probabilities differ by {off}, rounding may cost {allowed}"
    expect.that(worst <= limit, "halves do not merge into the whole", seen)


@probe({"rows": 3, "vocab": 50, "k": 4}, {"rows": 2, "vocab": 20_021, "k": 40}, floors={"vocab": 4}, fit=serving)
def calls_of_equal_size_are_told_apart(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """Calls of equal size on other logits, at the addresses of the call before and at others, with what that left.

    The logits between the first column and the last change places: rows keep their ends, maximum and sum.
    """
    logits = spaced(draw, rows, vocab)
    calls = [launch(answer, draw, logits, k)]
    right_probabilities(calls[0])
    for moved in ((), ("probs", "indices"), ("logits",)):
        logits[:, 1:-1] = logits[:, 1:-1][:, draw.permutation(vocab - 2)]
        where = f"other logits, with {' and '.join(moved)} moved" if moved else "other logits in the same place"
        with _told_apart(calls, where):
            calls.append(launch(answer, draw, logits.copy(), k, fill="left", moved=moved))
            right_probabilities(calls[-1])


@probe({"vocab": 3}, {"vocab": 1000}, {"vocab": 4097}, rows=2)
def equal_logits_share_alike(answer: Answer, draw: Draw, *, rows: int, vocab: int) -> None:
    """T19: in a row of equal logits every probability is 1/vocab."""
    logits = np.repeat(draw.normal(rows, 1, dtype="float32"), vocab, axis=1)
    _right_probabilities_under("equal logits have unequal probabilities", answer, draw, logits, 8)


@probe({"vocab": 3}, {"vocab": LARGEST_K}, rows=2,
       fit=lambda answer, case: {**case, "vocab": served(answer, case["vocab"])})  # fmt: skip
def a_whole_row_adds_up_to_one(answer: Answer, draw: Draw, *, rows: int, vocab: int) -> None:
    """T12: k = vocab (up to the answer's limit): every column is named once, and the probabilities add up to 1."""
    run = launch(answer, draw, spaced(draw, rows, vocab), vocab)
    right(run, answer, draw)
    total = run.probs.astype(np.longdouble).sum(axis=1)
    gap = float(np.abs(total - 1).max())
    expect.that(gap <= 2 * UNIT * (vocab + 64), "the probabilities of a whole row do not add up to 1", f"by {gap:.3g}")


def _right_probabilities_under(title: str, answer: Answer, draw: Draw, logits: Floats, k: int) -> None:
    """Judge the probabilities of logits that have something special, whichever columns are chosen."""
    k = served(answer, min(k, logits.shape[1]))
    launched = partial(launch, answer, draw, logits, k)
    right_under(title, answer, draw, logits, k, launched=launched, judge=lambda run, *_: right_probabilities(run))


def launch(answer: Answer, draw: Draw, logits: Floats, k: int, **options: Any) -> Launched:
    """`binding.launch`, without the calls that are refused for their sizes: these say nothing of values.

    Raises:
        Spared: the call is refused for its sizes.
        ProbeFailure: as there.
        NotMeasurable: as there.
    """
    try:
        return launch_any(answer, draw, logits, k, **options)
    except CallRefused as why:
        if why.fault_of == SIZES:
            raise Spared from None
        raise


@contextmanager
def _told_apart(calls: Sequence[Launched], where: str) -> Iterator[None]:
    """Judge a call after others of its size, which were served; where it returns what one of them did, say so."""
    try:
        yield
    except WrongOutputs as why:
        raise ProbeFailure(why.title, f"{why.detail}; {where}", where=why.where) from None
    except ProbeFailure:
        *before, last = calls
        if not any((last.indices == one.indices).all() and (last.probs == one.probs).all() for one in before):
            raise
        detail = f"rows = {last.rows}, vocab = {last.vocab}, k = {last.k}: {where}"
        raise ProbeFailure("a call returns what an earlier one returned", detail) from None


def _log_sum_exp(run: Launched) -> NDArray[np.longdouble]:
    """log of the sum below, (rows,), as the answer's own largest probability implies it."""
    x = np.take_along_axis(run.logits, run.indices[:, :1], axis=1)[:, 0].astype(np.longdouble)
    sums: NDArray[np.longdouble] = x - np.log(run.probs[:, 0].astype(np.longdouble))
    return sums
