"""What the kernel says about a process, read from outside it."""

import contextlib
import os
import time
from collections.abc import Iterator
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


def descendants(pid: int, most: int | None = None) -> Iterator[int]:
    """Process `pid` and every process it started that is still there, each before its children; at most `most`."""
    waiting, count = [pid], 0
    while waiting and (most is None or count < most):
        current = waiting.pop()
        yield current
        count += 1
        for thread in _threads(current):
            with contextlib.suppress(OSError, ValueError):
                waiting += map(int, Path(f"/proc/{current}/task/{thread}/children").read_text("ascii").split())


class ProcessTreeMeter:
    """Processor time of a process and of everything it starts, summed over its descendants at each reading.

    Never too much: time that moves from a child to its parent while the kernel is read is counted at the next reading.
    What a process started whose parent refuses to wait for it counts only while it lives.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._most = 0.0

    def seconds(self) -> float:
        """Processor seconds so far, of those that ended too."""
        total = sum(map(_spent, descendants(self.pid)))
        self._most = max(self._most, total)
        return self._most


def _spent(pid: int) -> float:
    """Processor seconds of one process and of the children it has waited for; 0 when it is gone."""
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
    return len(_threads(pid))


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


def peak_resident_bytes(pid: int) -> int:
    """Most resident memory that process `pid` had in bytes since it began, or since `restart_peak`.

    Raises:
        ProcessLookupError: the process is gone.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration) as error:
        raise ProcessLookupError(pid) from error


def restart_peak(pid: int) -> bool:
    """Let `peak_resident_bytes` of process `pid` begin anew; False where the kernel does not allow it."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        return False
    return True
