"""Starting the processes that die with this one.

The kernel ends such a process when the thread that started it ends, not when the whole process does. So all are
started by one thread, which lives as long as this process.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any


def spawn(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """As `subprocess.Popen`; the process leads a session of its own, and is ended when this call is interrupted.

    Raises:
        OSError: it cannot be started.
    """

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, start_new_session=True, close_fds=True, **options)

    future = _thread(os.getpid()).submit(start)
    try:
        return future.result()
    except BaseException:
        future.add_done_callback(_forsake)
        raise


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session of its own, with all that is left in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@cache
def _thread(pid: int) -> ThreadPoolExecutor:
    """The thread that starts processes; a forked child of this process has none of ours."""
    return ThreadPoolExecutor(1, "spawning")


def _forsake(future: "Future[subprocess.Popen[bytes]]") -> None:
    if not future.cancelled() and future.exception() is None:
        end(future.result())
