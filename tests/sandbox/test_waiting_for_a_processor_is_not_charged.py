"""What an answer is charged is its own: neither it nor the grader pays for a processor that other work has."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.sandbox import CallStatus, Reply, Scalar
from harness.timing import clock

ENOUGH = 0.1
"""Seconds of waiting after which it is many times what the calls themselves take."""
CALLS = 4_000
"""Calls at most: the scheduler lets the first ones pass at once, and makes a thread wait once it has had its share."""
HOGS = 6
"""Processes that spin on one core: a thread that shares it waits for several times what it works."""


@contextmanager
def crowded(core: int) -> Iterator[None]:
    """This thread on a core that others keep busy."""
    before = os.sched_getaffinity(0)
    spin = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint('on', flush=True)\nwhile True:\n    pass\n"
    hogs = [subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) for _ in range(HOGS)]
    try:
        for hog in hogs:
            assert hog.stdout is not None and hog.stdout.readline()
        os.sched_setaffinity(0, {core})
        yield
    finally:
        os.sched_setaffinity(0, before)
        for hog in hogs:
            hog.kill()
            hog.communicate()


def calls_until_waited(box) -> Iterator[Reply]:
    """Calls of `f` until they have waited for `ENOUGH` seconds together."""
    waited = 0.0
    for _ in range(CALLS):
        reply = box.call("f", 1.0, returns=Scalar(float))
        waited += reply.queued
        yield reply
        if waited >= ENOUGH:
            return


@pytest.mark.parametrize("beside", [False, True], ids=["the grader waits", "both wait"])
def test_waiting_is_subtracted(opened, beside: bool) -> None:
    """A call takes a few microseconds; all but its own time is what other work took. Half is room for what the kernel
    counts neither as waiting nor as working."""
    first, *others = sorted(os.sched_getaffinity(0))
    box = opened("def f(x):\n    return x\n", "f")
    assert clock.pin(box.pid, first if beside or not others else others[0])
    with crowded(first):
        replies = list(calls_until_waited(box))
    assert all(reply.status is CallStatus.RETURNED for reply in replies)
    assert sum(reply.queued for reply in replies) >= ENOUGH, "the core was crowded"
    charged = sum(max(reply.processor, reply.seconds - reply.queued) for reply in replies)
    assert charged < 0.5 * sum(reply.seconds for reply in replies)
