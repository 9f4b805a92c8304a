"""Background work of a grade; timed probes wait for its end."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Generic, TypeVar

Result = TypeVar("Result")

STOP_SECONDS = 5.0
"""Longest wait for abandoned work to stop; its processes end with its thread."""
_wait: ContextVar[Callable[[], None] | None] = ContextVar("how to wait for the work beside", default=None)
_given_up: ContextVar[threading.Event | None] = ContextVar("whether this work was given up", default=None)


class GivenUp(BaseException):
    """Ends the thread of abandoned work; error handlers let a `BaseException` pass."""


class Beside(Generic[Result]):
    """One piece of work in its own thread."""

    def __init__(self, act: Callable[[], Result]) -> None:
        self._act = act
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self._gone = threading.Event()
        context = copy_context()
        context.run(_given_up.set, self._gone)
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)
        self._thread.start()

    def result(self, deadline: float) -> Result | None:
        """Return the result; abandon work that misses `deadline` (`time.perf_counter`), and return None."""
        self.wait(deadline)
        if self._thread.is_alive():
            self.give_up()
            return None
        if self._error is not None:
            raise self._error
        return self._results[0]

    def wait(self, deadline: float) -> None:
        """Wait for the work until `deadline`."""
        left = deadline - time.perf_counter()
        self._thread.join(max(0.0, left) if left < threading.TIMEOUT_MAX else None)

    def give_up(self) -> None:
        """Abandon the work, and wait briefly for its thread."""
        self._gone.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            self._results.append(self._act())
        except BaseException as error:  # `result` raises it again
            self._error = error


@contextmanager
def wait_for(work: Beside[Result], deadline: float) -> Iterator[None]:
    """Make `alone_in_grade` wait for `work` inside the block; abandon it after."""
    before = _wait.set(lambda: work.wait(deadline))
    try:
        yield
    finally:
        _wait.reset(before)
        work.give_up()


def alone_in_grade() -> None:
    """Wait for the grade's background work."""
    wait = _wait.get()
    if wait is not None:
        wait()


def assert_wanted() -> None:
    """Check for abandonment, in every wait for a process.

    Raises:
        GivenUp: this thread's work was abandoned.
    """
    gone = _given_up.get()
    if gone is not None and gone.is_set():
        raise GivenUp
