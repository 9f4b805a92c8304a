"""What the kernel says about a process, read from outside it."""

import os
import time
from pathlib import Path

IDLE_SECONDS = 0.05
"""Pauses shorter than this in all say nothing: the kernel's tick alone is up to a hundredth of a second."""


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
        self._since = time.perf_counter(), processor_seconds(self.pid)

    def wake(self) -> None:
        """Something is about to be asked of it."""
        if self._since is not None:
            wall, processor = self._since
            self.seconds += time.perf_counter() - wall
            self.processor += processor_seconds(self.pid) - processor
        self._since = None

    @property
    def share(self) -> float:
        """Processor time over wall time of all pauses; 0 before they come to `IDLE_SECONDS`."""
        return self.processor / self.seconds if self.seconds >= IDLE_SECONDS else 0.0
