"""Processes that die with this one.

The kernel kills them when the thread that started them ends, so one daemon thread starts all.
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
    """Start a process like `subprocess.Popen`, in a new session; an interrupt of this call kills it.

    Raises:
        OSError: the process did not start.
    """

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, start_new_session=True, close_fds=True, **options)

    future: Started = Future()
    try:
        _open_orders(os.getpid()).put((future, start))
        return future.result()
    except BaseException:
        if not future.cancel() and future.exception() is None:
            end(future.result())
        raise


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a session leader and its process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@cache
def _open_orders(pid: int) -> SimpleQueue[Order]:
    """Return the spawning thread's queue, per process: a forked child inherits no thread."""
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
        except BaseException as error:  # `spawn` raises it
            future.set_exception(error)
