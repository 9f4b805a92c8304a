"""Which faults stand whatever memory holds that nobody has written, and which such memory decides.

A launch is made again with other contents of that memory. Where it chooses other columns each time, and never the right
ones, those that it shows tell what such memory did: a fault of the choice is a column that is left out every time.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from harness.probing import ProbeFailure

from . import oracle
from .binding import CONTENTS, Launched, outputs

Rows = NDArray[np.bool_]
SAME = "nan"
"""The contents with which a launch is made twice."""


def unwritten_decides(run: Launched, judged: Callable[[Launched], object], rows: Rows) -> bool:
    """Say whether some rows of a launch, which are wrong, are right with other values in unwritten memory."""
    right = any(passes(partial(judged, other.part(rows))) for other in run.refilled)
    return right and _repeats(run, rows)


def alters(run: Launched, rows: Rows) -> bool:
    """Say whether the columns chosen for some rows change with unwritten memory."""
    changes = any((other.indices != run.indices)[rows].any() for other in run.refilled)
    return changes and _repeats(run, rows)


def _repeats(run: Launched, rows: Rows) -> bool:
    """Say whether a launch leaves the same again where unwritten memory holds the same, or else another reason acts."""
    if run.again is None:
        return False
    first = run.refilled[CONTENTS.index(SAME)]
    return bool((run.again(SAME) == outputs(first.indices, first.probs))[rows].all())


def find_always_lost(run: Launched, row: int) -> int | None:
    """Return the best column that a row wrongly leaves out whatever unwritten memory holds; None if there is none.

    Only logits above 0 count: zeros in such memory do not crowd these out.
    """
    logits = run.logits[row]
    lost = (logits >= oracle.largest(logits[None], run.k)[0, -1]) & (logits > 0)
    for each in (run, *run.refilled):
        inside = (each.indices[row] >= 0) & (each.indices[row] < run.vocab)
        chosen = np.unique(each.indices[row][inside])
        as_large = len(chosen) - np.searchsorted(np.sort(logits[chosen]), logits)
        lost &= as_large < run.k
        lost[chosen] = False
    return int(np.where(lost, logits, -np.inf).argmax()) if lost.any() else None


def passes(check: Callable[[], object]) -> bool:
    """Say whether a check finds nothing wrong."""
    try:
        check()
    except ProbeFailure:
        return False
    return True
