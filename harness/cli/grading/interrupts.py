"""Ctrl-C during grades: the first lets those that run end, the second drops them."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self

from harness.cli import output


class GentleStop:
    """Handler of Ctrl-C within a `with` block.

    Args:
        drain: drops what has not begun; called from a signal handler.
        count: returns how many grades run.

    Attributes:
        asked: True after a first Ctrl-C.
    """

    def __init__(self, drain: Callable[[], None], count: Callable[[], int]) -> None:
        self.asked = False
        self._drain, self._count = drain, count
        # only the main thread may set handlers, and a job in the background of a shell ignores Ctrl-C
        main = threading.current_thread() is threading.main_thread()
        self._able = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def __enter__(self) -> Self:
        if self._able:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._able:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the next one raises KeyboardInterrupt
        self.asked = True
        self._drain()
        running = self._count()
        what = "1 running grade; press again to drop it" if running == 1 else f"{running} running grades"
        output.note(f"stopping after {what}" + ("" if running == 1 else "; press again to drop them"))
