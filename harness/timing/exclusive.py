"""Quiet for one grade: work that other grades of this machine must stay out of while it runs.

Every piece of a grade that keeps the processor busy runs `beside_others`. What must run `alone` waits until all such
pieces of other processes ended, and keeps new ones waiting until it is done. The locks are files of this user, so they
end with the process that holds them.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from harness.sandbox.beside import alone_in_grade
from harness.sandbox.wall_bound import ends_by, wall_bound
from harness.timing.timeline import span

WAIT_SECONDS = 120.0
"""Longest wait for other grades' work to end; they begin nothing new meanwhile."""
FOLDER = "HARNESS_LOCK_FOLDER"
"""Environment variable naming the folder of the locks, which is that of temporary files by default."""
LOOK_SECONDS = 0.05


class MachineBusy(Exception):
    """Other grades kept the machine busy all the time that may be waited."""


@contextmanager
def beside_others() -> Iterator[None]:
    """Run the block beside other grades' work, though not beside what must be alone."""
    with _shared("work", "gate"):
        yield


@contextmanager
def alone(wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Run the block with no other work of this user's grades beside it. Not to be used inside `beside_others`.

    Raises:
        MachineBusy: the others did not end within `wait` seconds.
    """
    alone_in_grade()
    deadline = time.monotonic() + wait
    with _opened("gate") as gate, _opened("work") as work:
        with span("wait", waits_for="work"):
            _lock(gate, deadline)
            _lock(work, deadline)
        yield


@contextmanager
def second_try(limit: float, spent: float) -> Iterator[None]:
    """Run the block alone, and end it when the wall bound of both tries is over.

    Args:
        limit: processor seconds that a try may use.
        spent: wall seconds that the first try took.

    Raises:
        MachineBusy: the others did not end while there was time for a second try.
    """
    alone_in_grade()  # takes no longer than the answer's own tests, which have a bound of their own
    left = wall_bound(limit) - spent
    if left < limit:
        raise MachineBusy("its first try took all the time that both may take")
    with ends_by(time.perf_counter() + left), alone(left - limit):
        yield


@contextmanager
def gpu_beside_others() -> Iterator[None]:
    """Use the GPU for the length of the block beside others who do, though not beside what is timed on it."""
    with _shared("gpu", "gpu-gate"):
        yield


@contextmanager
def gpu_alone() -> Iterator[None]:
    """Keep all other grades of this user off the GPU for the length of the block: something is timed on it.

    Nothing but the timing belongs inside: no build, no drawing of inputs, no judging.
    """
    alone_in_grade()
    with _opened("gpu-gate") as gate, _opened("gpu") as gpu:
        with span("wait", waits_for="gpu"):
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(gpu, fcntl.LOCK_EX)
        with span("gpu_timed"):
            yield


@contextmanager
def timing_lock() -> Iterator[None]:
    """Keep other timings of this user on this machine out for the length of the block, and all else of this grade."""
    alone_in_grade()
    with _opened("timing") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _shared(name: str, gate_name: str) -> Iterator[None]:
    """Hold a lock beside others; who wants it alone holds the gate, and is waited for there."""
    with _opened(gate_name) as gate, _opened(name) as held:
        with span("wait", waits_for=name):
            fcntl.flock(gate, fcntl.LOCK_SH)
            fcntl.flock(held, fcntl.LOCK_SH)
            fcntl.flock(gate, fcntl.LOCK_UN)
        yield


def _lock(file: BinaryIO, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise MachineBusy("other grades of this machine did not end in time") from None
            time.sleep(LOOK_SECONDS)
        else:
            return


def _opened(name: str) -> BinaryIO:
    """A lock file of this user; closing it gives the lock back."""
    folder = Path(os.environ.get(FOLDER) or tempfile.gettempdir())
    path = folder / f"harness-{name}-{os.getuid()}.lock"
    return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "rb+", buffering=0)
