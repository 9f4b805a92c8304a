"""Program that indexes one share of the published records.

Arguments: workspace, index of the share, number of shares, id of the parent process.
"""

import os
import signal
import sys
from pathlib import Path

from harness.sandbox.inside import process_control
from harness.store.record_store import Store
from harness.workspace import Workspace


def _main(root: str, number: str, of: str, parent: str) -> None:
    process_control.prctl(process_control.SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == int(parent):
        Store(Workspace(Path(root))).published.index(slice(int(number), None, int(of)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
