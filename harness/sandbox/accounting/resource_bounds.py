"""Limits per box, polled where the kernel, without namespaces, cannot enforce them."""

import os
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox.accounting import process_stats

LOOK_SECONDS = 0.05
"""Seconds between two checks, in which growth goes unnoticed."""
FILES = 10_000
"""Most files in a scratch folder; checking more takes too long."""


@dataclass(frozen=True)
class ResourceBounds:
    """The limits of one box.

    Attributes:
        size: bytes in its scratch `folder`.
        tasks: threads, with processes if allowed.
    """

    folder: Path
    size: int
    tasks: int

    def find_excess(self, pid: int) -> str:
        """Return what `pid` and its descendants exceed, if anything."""
        count = tasks(pid, self.tasks)
        if count > self.tasks:
            return f"more than {self.tasks} threads or processes"
        if sum_bytes(self.folder, self.size) > self.size:
            return f"more than {self.size >> 20} MiB of scratch space, or more files and folders than can be counted"
        return ""


def tasks(pid: int, most: int) -> int:
    """Count the threads of `pid` and its descendants, up to just above `most`."""
    count = 0
    for process in process_stats.descendants(pid, most + 1):
        count += process_stats.threads(process)
        if count > most:
            break
    return count


def sum_bytes(folder: Path, most: int) -> int:
    """Sum the bytes below `folder`, up to just above `most`."""
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
    except (OSError, RecursionError):  # folders nested too deeply
        return most + 1
    return total
