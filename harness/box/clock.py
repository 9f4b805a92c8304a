"""What can be read of a worker from outside: wall time, processor time, resident memory."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

IDLE_SHARE = 0.05
"""Share of a core that a worker may use while nobody asks it anything."""
IDLE_SECONDS = 0.02
"""Shortest pause that says something: what a call leaves to clean up takes less."""


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


@dataclass(frozen=True)
class Rest:
    """A worker just after a reply: wall clock and processor clock, both in seconds; nothing before the first."""

    wall: float | None = None
    processor: float = 0.0

    def share(self, processor: float, now: float) -> float | None:
        """Share of a core used since, when it is more than an idle worker uses; None otherwise."""
        if self.wall is None or now - self.wall < IDLE_SECONDS:
            return None
        share = (processor - self.processor) / (now - self.wall)
        busy = share > IDLE_SHARE and processor - self.processor > IDLE_SECONDS / 2
        return share if busy else None
