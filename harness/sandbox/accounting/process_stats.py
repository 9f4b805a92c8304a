"""Kernel statistics of a process, read from outside."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

IDLE_SECONDS = 0.05
"""Shortest total pause that is conclusive; the kernel's tick alone can be a hundredth of a second."""


def processor_seconds(pid: int) -> float:
    """Return the processor time of all threads of `pid`.

    Reading another process's clock needs no permission.

    Raises:
        ProcessLookupError: the process is gone.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError as error:
        raise ProcessLookupError(pid) from error


def descendants(pid: int, most: int | None = None) -> Iterator[int]:
    """Yield `pid` and at most `most` living descendants, parents first."""
    waiting, count = [pid], 0
    while waiting and (most is None or count < most):
        current = waiting.pop()
        yield current
        count += 1
        for thread in _threads(current):
            with contextlib.suppress(OSError, ValueError):
                waiting += map(int, Path(f"/proc/{current}/task/{thread}/children").read_text("ascii").split())


class ProcessTreeMeter:
    """Processor time of a process and its descendants.

    It never overstates: time that moves from child to parent during a reading counts at the next. Children ignored by
    their parent count only while alive.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._most = 0.0

    def seconds(self) -> float:
        """Return the processor seconds, with those of ended processes."""
        total = sum(map(_spent, descendants(self.pid)))
        self._most = max(self._most, total)
        return self._most


def _spent(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def resident_bytes(pid: int) -> int:
    """Return the resident memory of `pid`, shared pages included.

    Raises:
        ProcessLookupError: the process is gone.
    """
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError) as error:
        raise ProcessLookupError(pid) from error
    return pages * os.sysconf("SC_PAGE_SIZE")


def threads(pid: int) -> int:
    """Return the thread count of `pid`; 0 if gone."""
    return len(_threads(pid))


def page_faults(pid: int) -> int:
    """Return the minor page faults of `pid`.

    Raises:
        ProcessLookupError: the process is gone.
    """
    try:
        # the command name, in parentheses, may itself contain spaces and parentheses
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[7])
    except (OSError, IndexError) as error:
        raise ProcessLookupError(pid) from error


class IdleMeter:
    """Processor time of a process between requests."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.seconds = 0.0
        self.processor = 0.0
        self._since: tuple[float, float] | None = None

    def rest(self) -> None:
        """Begin a pause."""
        self._since = time.perf_counter(), processor_seconds(self.pid)

    def wake(self) -> None:
        """End a pause."""
        if self._since is not None:
            wall, processor = self._since
            self.seconds += time.perf_counter() - wall
            self.processor += processor_seconds(self.pid) - processor
        self._since = None

    @property
    def share(self) -> float:
        """Processor time over wall time of all pauses; 0 below `IDLE_SECONDS`."""
        return self.processor / self.seconds if self.seconds >= IDLE_SECONDS else 0.0


def peak_resident_bytes(pid: int) -> int:
    """Return the peak resident memory since the start or `restart_peak`.

    Raises:
        ProcessLookupError: the process is gone.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration) as error:
        raise ProcessLookupError(pid) from error


def restart_peak(pid: int) -> bool:
    """Reset the peak of `pid`; return False if the kernel refuses."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        return False
    return True
