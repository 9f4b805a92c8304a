"""A process's descendants, killed to the last."""

import contextlib
import os
import signal
from collections.abc import Callable, Sequence

import process_control as control

_AWAITED = {signal.SIGCHLD, signal.SIGTERM}


def keep(run: Callable[[], None], parent: int, given: Sequence[int]) -> int | None:
    """Fork a child, and kill all its descendants when it ends, `parent` dies, or SIGTERM comes.

    Args:
        run: the child's function, which never returns.
        given: descriptors for the child alone.

    Returns:
        The child's wait status, unless another event came first.
    """
    # blocked and awaited rather than handled: a handler could interrupt the killing below
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
        status = _reap_children().get(child)
    _end()
    return status


def _reap_children() -> dict[int, int]:
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _end() -> None:
    """Kill every descendant; as subreaper, this process adopts orphans."""
    # without a pause: a process that keeps forking and exiting must be caught in between
    while children := _children():
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _reap_children()


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
