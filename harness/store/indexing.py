"""Parallel indexing of published records."""

import contextlib
import logging
import os
import subprocess
from pathlib import Path

from harness import interpreter

MANY = 2000
"""Minimum number of records for which starting processes pays off."""
PROGRAM = "harness.store.index_process"
"""Module that indexes one share of the records."""
_log = logging.getLogger(__name__)


def index_side_by_side(root: Path, count: int) -> bool:
    """Index the changed records in parallel, and return whether that was worth trying."""
    processes = len(os.sched_getaffinity(0))
    if count < MANY or processes < 2:
        return False
    _log.warning("note: reading %s records that changed, or that another version of the harness read", f"{count:,}")
    with contextlib.ExitStack() as started:
        for number in range(processes):
            given = map(str, (root, number, processes, os.getpid()))
            command = (interpreter.EXECUTABLE, "-P", "-m", PROGRAM, *given)
            # the caller reads the records that fail here again, and reports the errors
            quiet = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            started.enter_context(quiet)
    return True
