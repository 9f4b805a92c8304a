"""Published records read by several processes at once: each reads a share, and keeps in the store what it found."""

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
"""Fewer records are read sooner than processes start."""
_log = logging.getLogger(__name__)


class Share(NamedTuple):
    """Every `of`-th of some records, from that of this `number` on."""

    number: int
    of: int

    @property
    def records(self) -> slice:
        """Which of a list of them."""
        return slice(self.number, None, self.of)


def index_side_by_side(root: Path, count: int) -> bool:
    """Have the records of a workspace that changed indexed, as far as that can be done; then they are not read again.

    Args:
        root: of the workspace.
        count: how many changed.

    Returns:
        whether that was tried.
    """
    processes = len(os.sched_getaffinity(0))
    if count < MANY or processes < 2:
        return False
    _log.warning("note: reading %s records that changed, or that another version of the harness read", f"{count:,}")
    with contextlib.ExitStack() as started:
        for number in range(processes):
            given = map(str, (root, number, processes, os.getpid()))
            command = (interpreter.EXECUTABLE, "-P", "-m", __name__, *given)
            # what goes wrong in one goes wrong again where the rest is read, and is told there
            quiet = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            started.enter_context(quiet)
    return True


def _main(root: str, number: str, of: str, parent: str) -> None:
    from harness.running.store import Store
    from harness.sandbox.boot import process_control
    from harness.workspace import Workspace

    process_control.prctl(process_control.SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == int(parent):
        Store(Workspace(Path(root))).published.index(Share(int(number), int(of)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
