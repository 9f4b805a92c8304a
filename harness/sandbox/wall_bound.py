"""How long a grade waits for an answer by the wall clock: the one bound, and how the tries share it.

A limit on an answer's time is processor time, so that other work on the machine uses up none of it. Whatever may use
`s` seconds of it ends within `wall_bound(s)` seconds by the clock: the import, a call, a build, all runs of the
answer's own tests, and, with the sum of these limits, the whole grade. A second try is part of what it repeats.

* What used up its processor time is not tried again.
* What did not end for another reason, because it waited or was starved, has a second try with no other grade beside it.
  So a first try takes half of the bound. One that will use up its limit within the bound, at the rate it has kept so
  far, goes on.
* What other work starved to the end is no failure of the answer.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FACTOR, EXTRA = 3.0, 5.0
SHORTEST = 0.01
"""Seconds that are not worth waiting on for."""
WORKING = 0.5
"""Share of its time in which a process uses the processor from which on it works rather than waits."""
_end: ContextVar[float] = ContextVar("when everything has to end", default=math.inf)


def wall_bound(seconds: float) -> float:
    """Return the wall time within which what may use `seconds` of processor time ends, all its tries together."""
    return FACTOR * seconds + EXTRA


def wall_left(limit: float, spent: float, used: float) -> float:
    """Return the wall seconds that a try has left.

    Args:
        limit: processor seconds that it may use.
        spent: wall seconds since it began.
        used: processor seconds that it has used.
    """
    bound = wall_bound(limit)
    on_its_way = used * bound >= limit * spent
    return min((bound if on_its_way else bound / 2) - spent, _end.get() - time.perf_counter())


def time_left(limit: float, spent: float, had: float, used: float) -> float:
    """Return the wall seconds for which a reply is still waited for, if the worker goes on as it is.

    Args:
        limit: seconds that the worker may have.
        spent: wall seconds since it was asked.
        had: seconds of them in which it was not kept from a processor.
        used: processor seconds that it has used since, in all threads.
    """
    left = limit - had
    if left < SHORTEST and used >= WORKING * limit:
        left = max(left, limit - used)
    return min(left, wall_left(limit, spent, used))


@contextmanager
def ends_by(moment: float) -> Iterator[None]:
    """End all that is waited for inside the block at `moment` of `time.perf_counter`, if not earlier."""
    before = _end.set(min(moment, _end.get()))
    try:
        yield
    finally:
        _end.reset(before)
