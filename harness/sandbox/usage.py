"""What the kernel bounds for one box only where it has namespaces; elsewhere it is looked at while the box works.

Threads of an answer are bounded before they start, see `notices`; what is looked at here is then the second bound.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox import process_stats

LOOK_SECONDS = 0.05
"""Between two looks: as long as something may grow unseen."""
FILES = 10_000
"""More than these in a scratch folder are too many to look at."""


@dataclass(frozen=True)
class ResourceBounds:
    """What one box may use.

    Attributes:
        folder: its scratch folder.
        size: bytes of all that is in it.
        tasks: threads, and processes where they may be started.
    """

    folder: Path
    size: int
    tasks: int

    def exceeded(self, pid: int) -> str:
        """What process `pid`, with all it started, has too much of; empty when nothing."""
        count = tasks(pid, self.tasks)
        if count > self.tasks:
            return f"more than {self.tasks} threads or processes"
        if used(self.folder, self.size) > self.size:
            return f"more than {self.size >> 20} MiB of scratch space, or more files and folders than can be counted"
        return ""


def tasks(pid: int, most: int) -> int:
    """Threads of `pid` and of every process it started; counts no further than just above `most`."""
    count = 0
    for process in process_stats.descendants(pid, most + 1):
        count += process_stats.threads(process)
        if count > most:
            break
    return count


def used(folder: Path, most: int) -> int:
    """Bytes that the files below `folder` take; counts no further than just above `most`."""
    total = files = 0
    try:
        for _, folders, names, place in os.fwalk(folder, onerror=None):
            files += len(names) + len(folders)
            for name in names:
                try:
                    total += os.stat(name, dir_fd=place, follow_symlinks=False).st_blocks * 512
                except OSError:
                    continue
            if total > most or files > FILES:
                return max(total, most + 1)
    except (OSError, RecursionError):  # folders nested deeper than anybody needs
        return most + 1
    return total
