"""Probes of special logits and of the call itself: ties, infinities, NaN rows, illegal k, alignment, repetition."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from harness.probing import Answer, Draw, NotMeasurable, ProbeFailure, WorkerLost, expect, probe
from harness.probing.checked import ORDER
from harness.probing.failures import Spared

from .alignment import launch_watched
from .binding import Floats, Launched, call, launch, max_k, normal, outputs, serving, spaced
from .infinities import INFINITE, right_with_infinities, tail_masked
from .judging import alive, right, right_under
from .probes_rows import DISTURBED

TIED = "equal logits are not served"
PLAIN_VOCAB = 1000
"""Columns of a row that is not long."""
SEEDS = (1, 2, 3)
NEAR = {"vocab": 600, "k": 32}
SIZES = (7.5, 1.5, 0.01, 1e-9)
"""Magnitudes of neighbouring floats: the smaller, the less their probabilities differ."""
LARGER = np.float32(20.0)
"""A logit above neighbouring floats."""


@probe({"vocab": 6, "k": 3, "levels": 1}, {"vocab": 300, "k": 40, "levels": 1}, {"vocab": 300, "k": 40, "levels": 3},
       {"vocab": 2100, "k": 256, "levels": 5}, {"vocab": 300, "k": 40, "levels": 16},
       {"vocab": 2100, "k": 200, "levels": 30}, rows=2, fixed=("levels",), fit=serving)  # fmt: skip
def ties_are_broken_somehow(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, levels: int) -> None:
    """T03, T19: a few values for all logits: columns stay distinct and in range, and none larger is left out."""
    logits = draw.rng.integers(0, levels, (rows, vocab)).astype(np.float32) / 2
    right_under(TIED, answer, draw, logits, k)


@probe({"vocab": 12, "k": 3, "size": 7.5, "above": 0}, *({**NEAR, "size": size, "above": 0} for size in SIZES),
       *({**NEAR, "size": size, "above": 1} for size in SIZES), rows=3, fixed=("size", "above"),
       fit=serving)  # fmt: skip
def neighbouring_floats_are_told_apart(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, size: float, above: int
) -> None:
    """T25: the largest logits, but for `above` of each row, are one unit in the last place apart."""
    logits = draw.uniform(rows, vocab, low=-2.0, high=-1.0, dtype="float32")
    near = np.float32(size).view(np.int32) + draw.permutation(vocab)[None, : 2 * k].astype(np.int32)
    places = np.stack([draw.permutation(vocab)[: near.shape[1]] for _ in range(rows)])
    np.put_along_axis(logits, places, np.broadcast_to(near.view(np.float32), places.shape), axis=1)
    np.put_along_axis(logits, places[:, :above], LARGER, axis=1)
    title = "neighbouring floats are not distinguished"
    right_under(title, answer, draw, logits, k)


@probe({"vocab": 9, "k": 3}, {"vocab": 1100, "k": 20}, rows=3, floors={"vocab": 2}, fit=serving)
def minus_infinity_has_no_probability(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T20: half of the logits -inf, the first of all in the first row; the others share what there is."""
    logits = normal(draw, rows, vocab)
    for row in range(rows):
        logits[row, draw.permutation(vocab)[: vocab // 2]] = -np.inf
    logits[0, 0] = -np.inf
    logits[:, vocab // 2] = 1.0
    right_under(INFINITE, answer, draw, logits, k)


@probe({"vocab": 9, "k": 4, "finite": 1}, {"vocab": 40, "k": 8, "finite": 2}, {"vocab": 1500, "k": 64, "finite": 5},
       rows=3, fixed=("finite",), floors={"vocab": 5}, fit=serving)  # fmt: skip
def fewer_finite_logits_than_k(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, finite: int) -> None:
    """T20, T27: where fewer than k logits are finite the rest are distinct legal columns of probability 0."""
    if k <= finite:
        raise Spared
    logits = np.full((rows, vocab), -np.inf, np.float32)
    for row in range(rows):
        logits[row, draw.permutation(vocab)[:finite]] = draw.normal(finite)
    title = "fewer finite logits than k are not served"
    run = right_with_infinities(title, answer, draw, logits, k)
    rest = np.isneginf(np.take_along_axis(logits, run.indices, axis=1))
    expect.that(bool((run.probs[rest] == 0).all()), "a logit of -inf has a probability")


@probe(rows=1, vocab=40_009, k=20, fit=serving)
def a_masked_tail_is_served(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T20: k finite logits before so many of -inf that blocks or tiles of a row hold nothing else."""
    title = "a row of -inf behind its first k logits is not served"
    right_with_infinities(title, answer, draw, tail_masked(draw, rows, vocab, k), k)


@probe({"rows": 3, "vocab": 40, "k": 4}, {"rows": 12, "vocab": 700, "k": 10}, floors={"rows": 2}, fit=serving)
def spoilt_rows_leave_others_alone(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T20: rows with NaN or +inf, or of -inf alone, may come out anyhow; the rows between them come out right."""
    logits = normal(draw, rows, vocab)
    spoilt = np.arange(rows) % 2 == 0
    logits[0::6, vocab // 3] = np.nan
    logits[2::6, vocab // 2] = np.inf
    logits[4::6] = -np.inf
    between = lambda **more: launch(answer, draw, logits, k, **more).part(~spoilt)  # noqa: E731
    right_under(DISTURBED, answer, draw, logits, k, launched=between)


@probe({"rows": 1, "vocab": 1, "k": 1}, {"rows": 1, "vocab": 5, "k": 5}, {"rows": 2, "vocab": 31, "k": 7},
       {"rows": 2, "vocab": 32, "k": 32}, {"rows": 3, "vocab": 33, "k": 33}, {"rows": 2, "vocab": 257, "k": 100},
       {"rows": 7, "vocab": 64, "k": 1}, {"rows": 1, "vocab": 1025, "k": 8}, {"rows": 2, "vocab": 256, "k": 256},
       {"rows": 3, "vocab": 2049, "k": 255}, {"rows": 2, "vocab": 4099, "k": 3}, fit=serving)  # fmt: skip
def any_shape_is_served(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T04, T12, T21: rows, vocab and k that fit no block, warp or vector, k = vocab and 1 included."""
    right(launch(answer, draw, spaced(draw, rows, vocab), k), answer, draw)


@probe(*({"vocab": 1024 + more} for more in (1, 2, 3, 21, 53, 255, 257)), rows=3, k=6, fixed=("rows", "k"), fit=serving)
def a_tail_of_any_length_counts(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T13: columns of -inf added behind change nothing, whatever their number; and the last columns can win."""
    logits = spaced(draw, rows, 1024)
    behind = np.full((rows, vocab - 1024), -np.inf, np.float32)
    padded, title = np.concatenate([logits, behind], axis=1), "columns of -inf behind a row are not served"
    right_under(title, answer, draw, padded, k)
    behind = np.float32(9) + draw.uniform(rows, vocab - 1024, dtype="float32")
    raised, title = np.concatenate([logits, behind], axis=1), "the last columns of a row are not served"
    right_under(title, answer, draw, raised, k)


@probe(*({"shift": shift, "vocab": vocab, "k": k} for shift in (4, 8, 12)
         for vocab, k in ((64, 5), (1000, 8), (1003, 5))), rows=3, fixed=("shift", "rows", "k"),
       fit=serving)  # fmt: skip
def logits_need_no_alignment(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, shift: int) -> None:
    """Logits that begin 4, 8 or 12 bytes past an aligned address, in rows of even and odd length."""
    logits = normal(draw, rows, vocab)
    watched = partial(launch_watched, answer, draw, logits, k, shift)
    right_under("logits off a 16-byte boundary are not served", answer, draw, logits, k, launched=watched)


@probe(*({"output": output, "shift": shift, "k": k} for output in ("probs", "indices")
         for shift, k in ((4, 8), (8, 100), (12, 256))), rows=3, vocab=1000,
       fixed=("output", "shift", "rows", "vocab", "k"), fit=serving)  # fmt: skip
def outputs_need_no_alignment(
    answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int, output: str, shift: int
) -> None:
    """One output that begins 4, 8 or 12 bytes past an aligned address, where four entries fill 16 bytes of the others.

    It is judged by the same launch with all on a boundary, watched as well: what is misaligned there is so in any case.
    """
    logits = normal(draw, rows, vocab)
    watched, plainly = (partial(launch_watched, answer, draw, logits, k, output_shifts=shifts)
                        for shifts in ({output: shift}, {}))  # fmt: skip
    right_under(f"{output} off a 16-byte boundary is not served", answer, draw, logits, k, launched=watched,
                plainly=plainly)  # fmt: skip


@probe({"rows": 2, "vocab": 50257, "k": 50}, {"rows": 1, "vocab": 70000, "k": 8},
       {"rows": 2, "vocab": 128256, "k": 256}, fixed=("rows", "vocab", "k"), fit=serving)  # fmt: skip
def real_vocabularies_are_served(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> dict[str, float]:
    """T22: 50,257 and 128,256 columns, and 70,000: indices over 65,535, sums of many terms."""
    logits = normal(draw, rows, vocab)
    high = vocab - 1 - draw.permutation(min(vocab, 4000))[:3]
    logits[:, high] = logits.max(axis=1, keepdims=True) + draw.uniform(rows, 3, low=1, high=2, dtype="float32")
    with expect.only_beside(lambda: right(launch(answer, draw, logits[:, -PLAIN_VOCAB:], k), answer, draw)):
        return {"error_ratio_large": right(launch(answer, draw, logits, k), answer, draw)}


@probe({"vocab": 300, "k": 0}, {"vocab": 300, "k": -1}, {"vocab": 20, "k": 21}, {"vocab": 20, "k": 400},
       rows=2, fixed=("vocab", "k", "rows"))  # fmt: skip
def an_illegal_k_is_refused(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """k < 1 and k > vocab bring a non-zero code, and nothing is written; a legal call is served afterwards."""
    logits = normal(draw, rows, vocab)
    back = call(answer, draw, logits, k)
    expect.that(back.code != 0, "an illegal k is accepted", f"k = {k} at vocab = {vocab}: it returns 0")
    expect.that(back.untouched, "an illegal k is refused after something was written", f"k = {k} at vocab = {vocab}")

    def after_refusal(**more: Any) -> Launched:
        call(answer, draw, logits, k, **more)
        return launch(answer, draw, logits, 2, **more)

    right_under("a legal call after a refused one goes wrong", answer, draw, logits, 2, launched=after_refusal)


@probe(rows=2, vocab=5000, fixed=("rows", "vocab"))
def a_k_over_the_limit_is_refused(answer: Answer, draw: Draw, *, rows: int, vocab: int) -> None:
    """A k above what the answer says it serves is refused before anything is written, or served rightly."""
    limit = max_k(answer)
    logits = normal(draw, rows, max(vocab, 2 * limit))
    for k in (limit + 1, 2 * limit):
        back = call(answer, draw, logits, k)
        if back.code == 0:
            title = "a k over the limit is accepted, and its result is wrong"
            with expect.renamed(title), expect.only_beside(partial(_served, answer, draw, logits, limit)):
                right(launch(answer, draw, logits, k), answer, draw)
        expect.that(back.code == 0 or back.untouched, "a k over the limit is refused after something was written",
                    f"k = {k}, the limit is {limit}")  # fmt: skip


@probe({"rows": 2, "vocab": 40, "k": 5}, {"rows": 3, "vocab": 1200, "k": 40}, fit=serving)
def inputs_stay_as_they_were(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T24: not one bit of the logits changes."""
    run = launch(answer, draw, normal(draw, rows, vocab), k)
    alive(run)
    expect.that(run.kept, "the logits are changed", f"rows = {rows}, vocab = {vocab}")


@probe({"rows": 3, "vocab": 90, "k": 9}, {"rows": 3, "vocab": 1500, "k": 60}, {"rows": 2, "vocab": 9001, "k": 20},
       fit=serving)  # fmt: skip
def identical_calls_get_identical_replies(answer: Answer, draw: Draw, *, rows: int, vocab: int, k: int) -> None:
    """T23: the same call again brings the same bits, under other schedules too, and brings what is right."""
    logits = normal(draw, rows, vocab)
    first, *others = (launch(answer, draw, logits, k) for _ in range(3))
    alive(first)
    for other in others:
        _require_same(first, other)
    plain = launch(answer, draw, logits, k, fill="nan")
    for seed in SEEDS:  # what is wrong in order, with the same in memory that nobody wrote, depends on no schedule
        with expect.only_beside(lambda: right(launch(answer, draw, logits, k, fill="nan"), answer, draw)):
            other = _right_under(answer, draw, logits, k, seed)
        with _left_to_order(answer, draw, logits, k, seed):
            _require_same(plain, other, f" under schedules 0 and {seed}")


def _served(answer: Answer, draw: Draw, logits: Floats, k: int) -> None:
    right(launch(answer, draw, logits, k), answer, draw)


def _right_under(answer: Answer, draw: Draw, logits: Floats, k: int, seed: int) -> Launched:
    try:
        run = launch(answer, draw, logits, k, seed=seed, fill="nan")
        right(run, answer, draw)
        return run
    except WorkerLost:  # what became of the process says nothing about the order
        raise
    except ProbeFailure as why:
        raise ProbeFailure(
            "the result depends on the order in which warps run", f"schedule {seed}: {why.title}: {why.detail}",
            where=why.where, expected=why.expected, got=why.got,
        ) from None  # fmt: skip


def _require_same(one: Launched, other: Launched, how: str = "") -> None:
    """Require two replies to have the same bits."""
    unlike = (outputs(one.indices, one.probs) != outputs(other.indices, other.probs)).any(axis=-1)
    if not unlike.any():
        return
    row, i = (int(n) for n in np.argwhere(unlike)[0])
    seen = " and ".join(f"{run.probs[row, i]:.9g} of column {run.indices[row, i]}" for run in (one, other))
    place = f"probs[{row}, {i}]"
    detail = f"rows = {one.rows}, vocab = {one.vocab}, k = {one.k}: {place} is {seen}{how}"
    raise ProbeFailure("identical calls get different replies", detail, where=place)


@contextmanager
def _left_to_order(answer: Answer, draw: Draw, logits: Floats, k: int, seed: int) -> Iterator[None]:
    """Leave a difference to the criterion of order where the device sees threads race."""
    try:
        yield
    except ProbeFailure as why:
        with suppress(NotMeasurable, ProbeFailure):
            found = call(answer, draw, logits, k, mode="check", seed=seed, fill="nan").report.found()
            if any(defect.kind in ORDER for defect in found):
                why.fault_of = "synchronisation"
        raise
