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
    """

    def __init__(self, drain: Callable[[], None], count: Callable[[], int]) -> None:
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
        signal.signal(signal.SIGINT, self._drop)
        self._drain()
        running = self._count()
        them = "it" if running == 1 else "them"
        output.note(f"stopping after {_count_grades(running)}; press again to drop {them}")

    def _drop(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        output.note(
            f"dropping {_count_grades(self._count())}"
        )  # at once, for their sandboxes may take seconds to close
        raise KeyboardInterrupt


def _count_grades(number: int) -> str:
    return f"{number} running grade{'s' * (number != 1)}"
