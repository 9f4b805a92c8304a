"""Locks between the grades of one user, for exclusive use of the machine.

Busy parts of a grade run `beside_others`; `alone` waits for them and holds up new ones. The locks are on files, so they
end with their process.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from harness.sandbox.accounting.wall_bound import ends_by, wall_bound
from harness.sandbox.session.background_task import alone_in_grade
from harness.timing.timeline import span

WAIT_SECONDS = 120.0
"""Longest wait for other grades' work, during which they start no more."""
FOLDER = "HARNESS_LOCK_FOLDER"
"""Environment variable for the folder of the locks; that of temporary files by default."""
LOOK_SECONDS = 0.05


class MachineBusy(Exception):
    """Other grades kept the machine busy for the whole wait."""


@contextmanager
def beside_others() -> Iterator[None]:
    """Run the block beside other grades' work, but not beside work `alone`."""
    with _lock_jointly("work", "gate"):
        yield


@contextmanager
def alone(wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Run the block while no other grade of this user works; not inside `beside_others`.

    Raises:
        MachineBusy: other work did not end within `wait` seconds.
    """
    alone_in_grade()
    deadline = time.monotonic() + wait
    with _open_lock("gate") as gate, _open_lock("work") as work:
        with span("wait", waits_for="work"):
            _lock(gate, deadline)
            _lock(work, deadline)
        yield


@contextmanager
def second_try(limit: float, spent: float) -> Iterator[None]:
    """Run the block alone, until the wall bound for both tries.

    Args:
        limit: processor seconds of a try.
        spent: wall seconds of the first try.

    Raises:
        MachineBusy: too little time remains.
    """
    alone_in_grade()  # takes no longer than the submission's own tests, which have their own limit
    left = wall_bound(limit) - spent
    if left < limit:
        raise MachineBusy("its first try took all the time that both may take")
    with ends_by(time.perf_counter() + left), alone(left - limit):
        yield


@contextmanager
def gpu_beside_others() -> Iterator[None]:
    """Use the GPU beside other grades, but not beside timing."""
    with _lock_jointly("gpu", "gpu-gate"):
        yield


@contextmanager
def gpu_alone() -> Iterator[None]:
    """Keep this user's other grades off the GPU, for timing.

    Do only the timing inside: build, draw inputs and judge outside.
    """
    alone_in_grade()
    with _open_lock("gpu-gate") as gate, _open_lock("gpu") as gpu:
        with span("wait", waits_for="gpu"):
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(gpu, fcntl.LOCK_EX)
        with span("gpu_timed"):
            yield


@contextmanager
def timing_lock() -> Iterator[None]:
    """Exclude this user's other timings, and the rest of this grade."""
    alone_in_grade()
    with _open_lock("timing") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _lock_jointly(name: str, gate_name: str) -> Iterator[None]:
    with _open_lock(gate_name) as gate, _open_lock(name) as held:
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


def _open_lock(name: str) -> BinaryIO:
    folder = Path(os.environ.get(FOLDER) or tempfile.gettempdir())
    path = folder / f"harness-{name}-{os.getuid()}.lock"
    return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "rb+", buffering=0)
