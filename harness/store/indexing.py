"""Parallel indexing of published records: each process reads a share and saves the results in the store."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from harness import interpreter

MANY = 2000
"""Minimum number of records for which starting processes pays off."""
_log = logging.getLogger(__name__)


class Share(NamedTuple):
    """Every `of`-th record, from index `number`."""

    number: int
    of: int

    @property
    def records(self) -> slice:
        """Slice of the share in a list of records."""
        return slice(self.number, None, self.of)


def index_side_by_side(root: Path, count: int) -> bool:
    """Index the changed records of a workspace in parallel, and return whether that was worth trying."""
    processes = len(os.sched_getaffinity(0))
    if count < MANY or processes < 2:
        return False
    _log.warning("note: reading %s records that changed, or that another version of the harness read", f"{count:,}")
    with contextlib.ExitStack() as started:
        for number in range(processes):
            given = map(str, (root, number, processes, os.getpid()))
            command = (interpreter.EXECUTABLE, "-P", "-m", __name__, *given)
            # the caller reads the records that fail here again, and reports the errors
            quiet = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            started.enter_context(quiet)
    return True


def _main(root: str, number: str, of: str, parent: str) -> None:
    from harness.sandbox.inside import process_control
    from harness.store.record_store import Store
    from harness.workspace import Workspace

    process_control.prctl(process_control.SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == int(parent):
        Store(Workspace(Path(root))).published.index(Share(int(number), int(of)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
