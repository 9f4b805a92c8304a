"""Starting the processes that die with this one.

The kernel ends such a process when the thread that started it ends, not when the whole process does. So all are
started by one thread, which lives as long as this process and never keeps it from ending.
"""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import Any

Started = Future[subprocess.Popen[bytes]]
Order = tuple[Started, Callable[[], subprocess.Popen[bytes]]]


def spawn(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """As `subprocess.Popen`; the process leads a session of its own, and is ended when this call is interrupted.

    Raises:
        OSError: it cannot be started.
    """

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, start_new_session=True, close_fds=True, **options)

    future: Started = Future()
    try:
        _orders(os.getpid()).put((future, start))
        return future.result()
    except BaseException:
        if not future.cancel():
            _forsake(future)
        raise


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session of its own, with all that is left in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@cache
def _orders(pid: int) -> SimpleQueue[Order]:
    """What the thread that starts processes is to start; a forked child of this process has no such thread."""
    orders: SimpleQueue[Order] = SimpleQueue()
    threading.Thread(target=_serve, args=(orders,), name="spawning", daemon=True).start()
    return orders


def _serve(orders: SimpleQueue[Order]) -> None:
    while True:
        future, start = orders.get()
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(start())
        except BaseException as error:  # raised where the process was asked for
            future.set_exception(error)


def _forsake(future: Started) -> None:
    if future.exception() is None:
        end(future.result())
