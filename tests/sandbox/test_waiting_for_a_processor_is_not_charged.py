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
"""Seconds of waiting within calls after which a reader of the processor's clock cannot mistake it for work."""
CALLS = 2_000
"""Calls at most: the scheduler lets the first ones pass at once, and makes a thread wait once it has had its share."""
WORK = "def f(x):\n    for _ in range(20_000):\n        pass\n    return x\n"
"""Takes about a millisecond: calls of microseconds fit between two waits."""
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


def waited(reply: Reply) -> float:
    """Seconds of the call in which the answer did not work."""
    return max(reply.seconds - reply.processor, 0.0)


def calls_until_waited(box) -> Iterator[Reply]:
    """Calls of `f` until they have waited for `ENOUGH` seconds together."""
    total = 0.0
    for _ in range(CALLS):
        reply = box.call("f", 1.0, returns=Scalar(float))
        total += waited(reply)
        yield reply
        if total >= ENOUGH:
            return


@pytest.mark.parametrize("beside", [False, True], ids=["the grader waits", "both wait"])
def test_waiting_is_subtracted(opened, beside: bool) -> None:
    """Half of the waiting is room for what the kernel counts neither as waiting nor as working."""
    first, *others = sorted(os.sched_getaffinity(0))
    box = opened(WORK, "f")
    assert clock.pin(box.pid, first if beside or not others else others[0])
    with crowded(first):
        replies = list(calls_until_waited(box))
    assert all(reply.status is CallStatus.RETURNED for reply in replies)
    waiting = sum(map(waited, replies))
    assert waiting >= ENOUGH, "the core was crowded"
    charged = sum(max(reply.seconds - reply.queued, reply.processor) - reply.processor for reply in replies)
    assert charged < 0.5 * waiting
