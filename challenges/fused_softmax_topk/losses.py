"""Loss maps: where winners must lie to be lost, found by planting them and seen from outside."""

from weakref import WeakKeyDictionary

import numpy as np

from harness.probing import Answer, Draw, Refuted, Unmeasured

from .binding import launch, planted
from .pattern import described

MAPPED = 1103
"""Columns of the map: two periods of 512 threads, and an end that fits no block."""
STRIDES = (1, 32, 64, 128, 256, 512, 1024)
"""Distances of columns that one thread may see: neighbours, lanes of a warp, blocks of usual sizes."""
PLANTED = 48

_MAPS: WeakKeyDictionary[Answer, dict[int, str | None]] = WeakKeyDictionary()
"""By answer and k: the search for a smaller case comes by many times."""


def loss_map(answer: Answer, draw: Draw, k: int) -> str | None:
    """Where a single winner is lost, or else how far apart winners lie that are lost together; None if neither shows.

    Args:
        answer: whom.
        draw: the source.
        k: that losses were seen at.
    """
    known = _MAPS.setdefault(answer, {})
    if k not in known:
        known[k] = _mapped(answer, draw, k)
    return known[k]


def _mapped(answer: Answer, draw: Draw, k: int) -> str | None:
    try:
        return _single(answer, draw, min(k, 16)) or _together(answer, draw, k)
    except (Refuted, Unmeasured):  # a fault that hides this one: the choice itself is what was refuted
        return None


def _single(answer: Answer, draw: Draw, k: int) -> str | None:
    """One winner in every column in turn."""
    columns = np.arange(MAPPED)[:, None]
    order = draw.permutation(MAPPED)
    run = launch(answer, draw, planted(draw, columns[order], MAPPED), k)
    lost = np.empty(MAPPED, bool)
    lost[order] = ~(run.indices == columns[order]).any(axis=1)
    if not lost.any():
        return None
    rule = described(lost, "c")
    if rule is not None:
        return f"winners placed in columns c with {rule} are lost (k = {k})"
    some = ", ".join(map(str, np.flatnonzero(lost)[:5]))
    return f"winners placed in {int(lost.sum())} of {MAPPED} columns are lost (k = {k}), such as {some}"


def _together(answer: Answer, draw: Draw, k: int) -> str | None:
    """k winners at equal distances, for each distance."""
    k = min(k, 256) if k > PLANTED else PLANTED
    k = min(k, answer.capabilities.get("max_k", k))
    vocab = STRIDES[-1] * k + 7
    columns = np.stack([3 + stride * np.arange(k) for stride in STRIDES])
    run = launch(answer, draw, planted(draw, columns, vocab), k)
    found = [len(np.intersect1d(got, planned)) for got, planned in zip(run.indices, columns, strict=True)]
    short = sorted((n, stride) for stride, n in zip(STRIDES, found, strict=True) if n < k)
    if not short:
        return None
    n, stride = short[0]
    apart = "neighbouring winners" if stride == 1 else f"winners {stride} columns apart"
    others = ", ".join(f"{n} of those {stride} apart" for n, stride in short[1:])
    also = f"; {others}" if others else ""
    return f"of {k} {apart} only {n} are found{also}: too few candidates of one thread reach the result"
