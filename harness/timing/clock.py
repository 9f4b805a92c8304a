"""The clock for timing, and the preparation of the machine and its workers."""

import os
import time
from functools import cache
from pathlib import Path

import numpy as np

WARMED = 64 << 20
"""Bytes to touch once: about the memory of a few workers and the files between them."""


def now() -> float:
    """Return the monotonic wall clock in seconds."""
    return time.perf_counter()


def pin(pid: int, core: int) -> bool:
    """Pin all threads of a process, and future ones, to one core; return False if not permitted."""
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})
    except OSError:
        return False
    return True


@cache
def warm_memory() -> None:
    """Touch memory once per process; a virtual machine hands out fresh pages far more slowly."""
    np.zeros(WARMED, np.uint8).fill(1)
