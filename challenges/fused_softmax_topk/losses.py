"""Loss maps: where winners must lie to be lost, found by planting them and seen from outside."""

from math import gcd
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from harness.probing import Answer, Draw, Loss, LossByDistance, NotMeasurable, ProbeFailure
from harness.probing.patterns import pattern_of

from .binding import ALIGNED, launch, planted

MAPPED = (1104, 1103)
"""Columns of the map: two periods of 512 threads; rows that all begin at a 16-byte boundary, and rows that do not and
end in no vector."""
STRIDES = (1, 32, 64, 128, 256, 512, 1024)
"""Distances of columns that one thread may see: neighbours, lanes of a warp, blocks of usual sizes."""
PLANTED = 48
FLOATS = ALIGNED // 4
"""Floats of the widest access: rows so far apart are equally aligned."""


class Lost(NamedTuple):
    """What is lost, in words and, where it can be drawn, as a map."""

    words: str
    loss: Loss | None = None


_MAPS: WeakKeyDictionary[Answer, Lost | None] = WeakKeyDictionary()
"""By answer: every probe that sees a loss, and the search for a smaller case, come by."""


def loss_map(answer: Answer, draw: Draw, k: int) -> Lost | None:
    """Where a single winner is lost, or else how far apart winners lie that are lost together; None if neither shows.

    Args:
        answer: whom; it is mapped once.
        draw: the source.
        k: that losses were seen at.
    """
    if answer not in _MAPS:
        _MAPS[answer] = _mapped(answer, draw, k)
    return _MAPS[answer]


def _mapped(answer: Answer, draw: Draw, k: int) -> Lost | None:
    try:
        singly = (_single(answer, draw, vocab, min(k, 16)) for vocab in MAPPED)
        return next(filter(None, singly), None) or _together(answer, draw, k)
    except (ProbeFailure, NotMeasurable):  # a fault that hides this one: the choice itself is what was refuted
        return None


def _single(answer: Answer, draw: Draw, vocab: int, k: int) -> Lost | None:
    """One winner in every column in turn."""
    columns = np.arange(vocab)[:, None]
    order = draw.permutation(vocab)
    lost = np.empty(vocab, bool)
    lost[order] = _count_found(answer, draw, columns[order], vocab, k) == 0
    if not lost.any():
        return None
    if lost.all():
        return Lost(f"a single winner is lost whatever its column (k = {k})")
    rule = pattern_of(lost)
    if rule is not None:
        words = f"winners placed in columns c with {rule.condition('c')} are lost (k = {k})"
        return Lost(words, rule.loss("columns"))
    some = ", ".join(map(str, np.flatnonzero(lost)[:5]))
    return Lost(f"winners placed in {int(lost.sum())} of {vocab} columns are lost (k = {k}), such as {some}")


def _together(answer: Answer, draw: Draw, k: int) -> Lost | None:
    """k winners at equal distances, for each distance."""
    k = min(k, 256) if k > PLANTED else PLANTED
    k = min(k, answer.capabilities.get("max_k", k))
    vocab = STRIDES[-1] * k + 7
    columns = np.stack([3 + stride * np.arange(k) for stride in STRIDES])
    found = map(int, _count_found(answer, draw, columns, vocab, k))
    short = sorted((n, stride) for stride, n in zip(STRIDES, found, strict=True) if n < k)
    if not short:
        return None
    n, stride = short[0]
    apart = "neighbouring winners" if stride == 1 else f"winners {stride} columns apart"
    others = ", ".join(f"{n} of those {stride} apart" for n, stride in short[1:])
    also = f"; {others}" if others else ""
    why = "" if any(stride == 1 for _, stride in short) else ": too few candidates of one thread reach the result"
    shares = tuple((stride, n / k) for n, stride in sorted(short, key=lambda one: one[1]))
    return Lost(f"of {k} {apart} only {n} are found{also}{why}", LossByDistance(found=shares))


def _count_found(answer: Answer, draw: Draw, columns: NDArray[Any], vocab: int, k: int) -> NDArray[np.int_]:
    """Return how many of the winners planted at `columns`, (rows, winners), are found in each row.

    Raises:
        NotMeasurable: others are lost with the rows in other places, as aligned as before: columns do not decide.
    """
    logits, step = planted(draw, columns, vocab), FLOATS // gcd(vocab, FLOATS)
    run, moved = (launch(answer, draw, np.roll(logits, by, axis=0), k) for by in (0, step))
    here, there = _count(run.indices, columns), _count(np.roll(moved.indices, -step, axis=0), columns)
    winners = columns.shape[1]
    if ((here < winners) != (there < winners)).any():
        raise NotMeasurable("which winners are lost changes with the places of rows")
    return here


def _count(indices: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.int_]:
    """Return how many of each row's columns are among its indices."""
    pairs = zip(indices, columns, strict=True)
    return np.array([len(np.intersect1d(got, planted)) for got, planted in pairs])
