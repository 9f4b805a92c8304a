"""Starts one command behind its fence: an answer's own tests, or a compiler.

Called with a plan as JSON and the words of the command. The plan's `fence` is applied before the command runs; its
report goes to file descriptor 3. Where no namespace ends what a command leaves behind (`keep`), this process stays
outside the fence, adopts every orphan, and kills them all when the command ends or its parent dies.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fence

REPORT = 3
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_prctl = ctypes.CDLL(None).prctl


def main(plan: dict[str, Any], command: list[str]) -> None:
    """Run the command; never returns."""
    if plan["keep"]:
        keep(plan, command)
    become(plan, command)


def become(plan: dict[str, Any], command: list[str]) -> None:
    """Turn into the command; never returns."""
    report = plan["report"]
    if report != REPORT:
        os.dup2(report, REPORT)
        os.close(report)
    os.set_inheritable(REPORT, True)
    os.closerange(REPORT + 1, 1 << 16)
    fence.enclose(plan["fence"])
    os.execv(command[0], command)


def keep(plan: dict[str, Any], command: list[str]) -> None:
    """Fork the command, wait for it, and kill what it leaves behind; never returns."""
    guardian = plan["keep"]
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != guardian:
        os._exit(1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        become(plan, command)
    status = 1
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        end_descendants()
        os._exit(status if status >= 0 else 128 - status)


def end_descendants() -> None:
    """Kill every descendant: the orphans among them are our children by now."""
    while children := _children():
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.001)  # those of the killed come to us one after the other


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
