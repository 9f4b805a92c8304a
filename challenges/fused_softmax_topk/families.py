"""Families of logits: rows that a kernel may treat in ways of their own, beside normal ones."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from harness.probing import Draw
from harness.probing.families import FAMILIES, values

from .binding import Floats

RISING = 4000
"""Columns that rise, at most: a kernel that keeps a sorted list may move all of it for each."""
SCALED = ("tiny", "huge", "mixed magnitudes")
"""Those of the shared families whose magnitudes the contract names; subnormal logits are beyond it."""

Family = Callable[[Draw, int, int, int], Floats]
"""Makes logits (rows, vocab), some family with regard to k."""


def _scores(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Scores of 30 times a unit normal: single columns hold nearly all of the probability."""
    return draw.normal(rows, vocab, std=30.0)


def _ties_at_the_end(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """In each row fewer than k logits lie above many equal ones."""
    logits = np.minimum(draw.normal(rows, vocab), 0.0)
    above = draw.integer(0, min(k, vocab) - 1)
    for row in logits:
        row[draw.permutation(vocab)[:above]] = 1.0 + draw.uniform(above)
    return logits


def _few_values(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    return draw.rng.integers(0, draw.integer(2, 6), (rows, vocab)) / 2.0


def _neighbours(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Floats that follow one another."""
    middle = np.float32(draw.rng.choice([1e-9, 7.5, -7.5, 1000.0]))
    steps = draw.rng.integers(-vocab, vocab + 1, (rows, vocab))
    return (middle.view(np.int32) + steps).astype(np.int32).view(np.float32)


def _zeros_above(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Zeros of both signs above negative logits."""
    logits = -np.abs(draw.normal(rows, vocab)) - 1e-3
    for row in logits:
        zeros = draw.permutation(vocab)[: max(min(k, vocab) // 2, 1)]
        row[zeros] = np.copysign(0.0, draw.signs(len(zeros)))
    return logits


def _some_minus_infinity(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Many logits of -inf; in every row one is finite, the last one more often than not."""
    logits = np.where(draw.uniform(rows, vocab) < draw.uniform(rows, 1), -np.inf, draw.normal(rows, vocab))
    finite = np.where(draw.uniform(rows) < 0, vocab - 1, draw.rng.integers(0, vocab, rows))
    logits[np.arange(rows), finite] = draw.normal(rows)
    return logits


def _few_finite(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Fewer finite logits than k, where k is 2 or more."""
    logits = np.full((rows, vocab), -np.inf)
    for row in logits:
        some = draw.permutation(vocab)[: draw.integer(1, max(min(k, vocab) - 1, 1))]
        row[some] = draw.normal(len(some))
    return logits


def masked(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Fewer logits than k, where k is 2 or more; the others are the smallest float, which masks use for -inf."""
    return np.maximum(_few_finite(draw, rows, vocab, k), np.finfo(np.float32).min)


def _spoilt_rows(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Rows with NaN or +inf, or of -inf alone, between good ones. See `good_rows`."""
    logits = draw.normal(rows, vocab)
    for row in np.flatnonzero(draw.uniform(rows) < -0.3):
        kind = draw.integer(0, 2)
        if kind == 2:
            logits[row] = -np.inf
        else:
            logits[row, draw.integer(0, vocab - 1)] = (np.nan, np.inf)[kind]
    return logits


def _winners_apart(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """The k largest lie at equal distances, which one thread or lane may see all of."""
    logits = draw.uniform(rows, vocab)
    strides = [stride for stride in (1, 4, 32, 64, 128, 256, 512, 1024) if stride * (k - 1) < vocab]
    stride = int(draw.rng.choice(strides))
    first = draw.integer(0, vocab - 1 - stride * (k - 1))
    for row in logits:
        row[first + stride * np.arange(k)] = 12.0 + 4.0 * draw.permutation(k) / k
    return logits


def _winners_last(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """The k largest are the last columns, and far above the others."""
    logits = draw.normal(rows, vocab)
    logits[:, vocab - k :] += 40.0
    return logits


def _late_winner(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """One logit far above all, in the last columns or anywhere: sums before it must be scaled down to it."""
    logits = draw.normal(rows, vocab)
    at = vocab - 1 - draw.rng.integers(0, min(vocab, 40), rows)
    anywhere = draw.rng.integers(0, vocab, rows)
    logits[np.arange(rows), np.where(draw.uniform(rows) < 0, at, anywhere)] += draw.integer(3, 90)
    return logits


def _sorted(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Falling rows; of a few, up to 4,000 columns rise, of which every logit beats all before it."""
    logits = -np.sort(-draw.normal(rows, vocab), axis=1)
    begin = draw.integer(0, max(vocab - RISING, 0))
    few = slice(0, 4)
    logits[few, begin : begin + RISING] = logits[few, begin : begin + RISING][:, ::-1] + draw.integer(0, 1) * 8
    return logits


def _offset(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Rows that lie far from zero and from each other."""
    return draw.normal(rows, vocab) + 1000.0 * draw.normal(rows, 1)


def _shared(family: str) -> Family:
    return lambda draw, rows, vocab, k: values(draw, family, rows, vocab, dtype="float32")


LOGITS: Mapping[str, Family] = {
    **{name: _shared(name) for name in (*FAMILIES, *SCALED)},
    "scores x30": _scores, "ties at the k-th place": _ties_at_the_end, "few values": _few_values,
    "neighbouring floats": _neighbours, "zeros above": _zeros_above, "some -inf": _some_minus_infinity,
    "few finite logits": _few_finite, "spoilt rows": _spoilt_rows, "winners apart": _winners_apart,
    "winners last": _winners_last, "sorted": _sorted, "late winner": _late_winner, "offset rows": _offset,
}  # fmt: skip
"""By name, the plainest first."""
SPECIAL = ("some -inf", "few finite logits", "spoilt rows")
"""Those with logits that are not finite, which are a criterion of their own."""
ORDINARY = tuple(name for name in LOGITS if name not in SPECIAL)


def logits_of(draw: Draw, family: str, rows: int, vocab: int, k: int) -> Floats:
    """Logits (rows, vocab) of a family, for a k of vocab at most."""
    made: Floats = np.asarray(LOGITS[family](draw, rows, vocab, k), np.float32)
    return made


def good_rows(logits: Floats) -> NDArray[np.bool_]:
    """Which rows are specified: (rows,), False where one has NaN or +inf, or -inf alone."""
    finite: NDArray[np.bool_] = np.isfinite(logits.max(axis=1))
    return finite
