"""The clock that timing reads, and what is done to the machine and to a worker so that it reads well."""

import os
import time
from functools import cache
from pathlib import Path

import numpy as np

WARMED = 64 << 20
"""Bytes touched once: the memory that a few workers and the files between them take."""


def now() -> float:
    """Seconds of the monotonic wall clock."""
    return time.perf_counter()


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
