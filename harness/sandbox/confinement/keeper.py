"""A program that waits for another process to end, and removes its remains.

Arguments: a pidfd of that process, its id, and the parent and name prefix of its scratch folders. Signals to that
process's group, session or terminal spare the keeper.
"""

import select
import signal
import sys
import time

SECONDS = 60.0
"""Longest wait for the processes that write to those folders to end."""
PAUSE = 0.02
_ENDED_BY_USERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def clear(pid: int, place: str, prefix: str) -> None:
    """Remove the control groups and folders of an ended process."""
    # imported only now, so that the waiting keeper needs little memory
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).absolute().parents[3]))

    from harness.sandbox.confinement import cgroup, scratch

    cgroup.remove_of(pid)
    deadline = time.monotonic() + SECONDS
    # a dying process may still write a file into a folder during its removal
    while (left := [*Path(place).glob(f"{prefix}*")]) and time.monotonic() < deadline:
        for folder in left:
            scratch.remove(folder)
        time.sleep(PAUSE)


def _main(process: str, pid: str, place: str, prefix: str) -> None:
    for number in _ENDED_BY_USERS:
        signal.signal(number, signal.SIG_IGN)
    waiting = select.poll()
    waiting.register(int(process), select.POLLIN)
    waiting.poll()
    clear(int(pid), place, prefix)


if __name__ == "__main__":
    _main(*sys.argv[1:])
