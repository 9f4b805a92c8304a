"""What can be read of a worker from outside, and the little that is done to it to be read well."""

import os
import time
from functools import cache
from pathlib import Path

import numpy as np

IDLE_SECONDS = 0.05
"""Pauses shorter than this in all say nothing: the kernel's tick alone is up to a hundredth of a second."""
WARMED = 64 << 20
"""Bytes touched once: the memory that a few workers and the files between them take."""


def now() -> float:
    """Seconds of the monotonic wall clock."""
    return time.perf_counter()


def processor_seconds(pid: int) -> float:
    """Processor time of all threads of process `pid` so far.

    The kernel's clock id of another process is `(~pid << 3) | 2`; reading it needs no permission.

    Raises:
        ProcessLookupError: the process is gone.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError as error:
        raise ProcessLookupError(pid) from error


def resident_bytes(pid: int) -> int:
    """Resident memory of process `pid` in bytes, shared pages included.

    Raises:
        ProcessLookupError: the process is gone.
    """
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError) as error:
        raise ProcessLookupError(pid) from error
    return pages * os.sysconf("SC_PAGE_SIZE")


def threads(pid: int) -> int:
    """Threads of process `pid`; 0 when it is gone."""
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def page_faults(pid: int) -> int:
    """Pages process `pid` was given so far without a read from disk.

    Raises:
        ProcessLookupError: the process is gone.
    """
    try:
        # the command's name, in parentheses, may itself hold spaces and parentheses
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[7])
    except (OSError, IndexError) as error:
        raise ProcessLookupError(pid) from error


def pin(pid: int, core: int) -> bool:
    """Hold every thread of process `pid`, and those they start, to one core; whether that is allowed here."""
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})
    except OSError:
        return False
    return True


@cache
def warm_memory() -> None:
    """Touch memory once in this process's life: a virtual machine gives out pages never used before far slower."""
    np.zeros(WARMED, np.uint8).fill(1)


class IdleMeter:
    """Processor time a process spends while nothing is asked of it.

    Every pause between two requests counts, so work put off until after a reply, or done ahead of a request, shows
    whenever it happens.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.seconds = 0.0
        self.processor = 0.0
        self._since: tuple[float, float] | None = None

    def rest(self) -> None:
        """Nothing is asked of the process from now on."""
        self._since = now(), processor_seconds(self.pid)

    def wake(self) -> None:
        """Something is about to be asked of it."""
        if self._since is not None:
            wall, processor = self._since
            self.seconds += now() - wall
            self.processor += processor_seconds(self.pid) - processor
        self._since = None

    @property
    def share(self) -> float:
        """Processor time over wall time of all pauses; 0 before they come to `IDLE_SECONDS`."""
        return self.processor / self.seconds if self.seconds >= IDLE_SECONDS else 0.0
