"""Locks of its own for each process that grades in tests: what hangs in one does not keep the others waiting."""

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness.timing import exclusive


def own_locks(at_the_end: Callable[[Callable[[], None]], object] = lambda clean: None) -> None:
    """Take them for this process and those it forks.

    Args:
        at_the_end: told what removes them.
    """
    exclusive.SCOPE = f"-{os.getpid()}"
    at_the_end(functools.partial(remove_locks, os.getpid()))


def remove_locks(pid: int) -> None:
    """Remove those of a process."""
    for path in Path(tempfile.gettempdir()).glob(f"harness-*-{os.getuid()}-{pid}.lock"):
        path.unlink(missing_ok=True)
