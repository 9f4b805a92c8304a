"""What a process started, and what that started in turn: waited for, and ended to the last one."""

import contextlib
import os
import signal
from collections.abc import Callable, Sequence

import process_control as control

_AWAITED = {signal.SIGCHLD, signal.SIGTERM}


def keep(run: Callable[[], None], parent: int, given: Sequence[int]) -> int | None:
    """Fork, do `run` in the child, and end all it leaves behind when it ends, `parent` dies, or SIGTERM comes.

    Args:
        run: must not return.
        parent: this process's parent.
        given: descriptors that are the child's alone.

    Returns:
        The child's wait status; None when something else came first.
    """
    # taken by waiting for them: a handler could run while the rest is being killed, and end that early
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    control.prctl(control.SET_CHILD_SUBREAPER, 1)
    control.prctl(control.SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return None
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
        run()
        os._exit(1)
    for fd in given:
        os.close(fd)
    status = None
    while status is None and signal.sigwait(_AWAITED) != signal.SIGTERM:
        status = _reaped().get(child)
    _end()
    return status


def _reaped() -> dict[int, int]:
    """Wait statuses, by process id, of the children that have ended."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _end() -> None:
    """Kill every descendant: the orphans among them are our children by now, or will be when their parents die."""
    # without a pause: whoever forks and ends, again and again, must be met between the two
    while children := _children():
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _reaped()


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
