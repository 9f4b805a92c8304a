"""The bound on wall time for a submission, and its division between tries.

Limits are on processor time, which other work cannot use up. Whatever may use `s` processor seconds, from an import to
the whole grade, ends within `wall_bound(s)` wall seconds, second try included.

* Work that used up its processor time fails without a second try.
* Work that waited or starved gets a second try with no other grade beside it. So a first try gets half of the bound, or
all if it is on course to use up its limit.
* Work that starved to the end is no failure of the submission.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FACTOR, EXTRA = 3.0, 5.0
SHORTEST = 0.01
"""Shortest time worth waiting for, in seconds."""
WORKING = 0.5
"""Share of processor use from which a process counts as working rather than waiting."""
_end: ContextVar[float] = ContextVar("when everything has to end", default=math.inf)


def wall_bound(seconds: float) -> float:
    """Return the wall seconds for all tries of `seconds` of processor time."""
    return FACTOR * seconds + EXTRA


def compute_remaining_wall(limit: float, spent: float, used: float) -> float:
    """Return the wall seconds that a try has left, from its limit and its wall and processor seconds so far."""
    bound = wall_bound(limit)
    on_its_way = used * bound >= limit * spent
    return min((bound if on_its_way else bound / 2) - spent, _end.get() - time.perf_counter())


def compute_remaining_time(limit: float, spent: float, had: float, used: float) -> float:
    """Return the wall seconds to keep waiting for a reply at the worker's current pace.

    It was not kept from a processor for `had` of the `spent` seconds; its threads together `used` processor seconds.
    """
    left = limit - had
    if left < SHORTEST and used >= WORKING * limit:
        left = max(left, limit - used)
    return min(left, compute_remaining_wall(limit, spent, used))


@contextmanager
def ends_by(moment: float) -> Iterator[None]:
    """End all waits inside the block by `moment` of `time.perf_counter`."""
    before = _end.set(min(moment, _end.get()))
    try:
        yield
    finally:
        _end.reset(before)
