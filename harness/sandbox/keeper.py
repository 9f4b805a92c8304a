"""Removes what a process leaves behind, whoever killed it: a program of its own, which waits for the other's end.

Called with a descriptor that names the process, its id, where its scratch folders lie, and how their names begin.
What ends that process with its group, its session or its terminal spares this one.
"""

import os
import select
import signal
import sys
import time

SECONDS = 60.0
"""For the processes that write to those folders to end."""
PAUSE = 0.02
_ENDED_BY_USERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def clear(pid: int, place: str, prefix: str) -> None:
    """Remove the control groups and the folders of a process that has ended."""
    # only now: until then it needs next to no memory
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from pathlib import Path

    from harness.sandbox import cgroup, scratch

    cgroup.remove_of(pid)
    deadline = time.monotonic() + SECONDS
    # what is still being killed may write a last file into a folder while that is removed
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
