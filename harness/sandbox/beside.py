"""Work of a grade that runs beside its probes, on another core: in a thread that nothing timed may run beside.

The thread spends its life waiting for processes in the sandbox. What must not be disturbed calls `alone_in_grade`
first, which returns when the work is over.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Generic, TypeVar

Result = TypeVar("Result")

STOP_SECONDS = 5.0
"""Longest wait for work that is given up; what it started ends with its thread."""
_wait: ContextVar[Callable[[], None] | None] = ContextVar("how to wait for the work beside", default=None)
_given_up: ContextVar[threading.Event | None] = ContextVar("whether this work was given up", default=None)


class GivenUp(BaseException):
    """Nobody wants the result of this work any more; no fault of the answer's or of ours, so nothing catches it."""


class Beside(Generic[Result]):
    """One piece of work in a thread of its own.

    Args:
        act: the work; what it raises, `result` raises.
    """

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
        """What came of it; None where it is not over at `deadline` of `time.perf_counter`, when it is given up."""
        self.wait(deadline)
        if self._thread.is_alive():
            self.give_up()
            return None
        if self._error is not None:
            raise self._error
        return self._results[0]

    def wait(self, deadline: float) -> None:
        """Wait until it is over, or for `deadline`."""
        left = deadline - time.perf_counter()
        self._thread.join(max(0.0, left) if left < threading.TIMEOUT_MAX else None)

    def give_up(self) -> None:
        """Have it end soon, and wait for that a while."""
        self._gone.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            self._results.append(self._act())
        except BaseException as error:  # raised again where the result is asked for
            self._error = error


@contextmanager
def waited_for(work: Beside[Result], deadline: float) -> Iterator[None]:
    """Have `alone_in_grade` inside the block wait for `work`; it is given up where the block ends before it does."""
    before = _wait.set(lambda: work.wait(deadline))
    try:
        yield
    finally:
        _wait.reset(before)
        work.give_up()


def alone_in_grade() -> None:
    """Wait until nothing of the same grade runs beside this thread."""
    wait = _wait.get()
    if wait is not None:
        wait()


def assert_wanted() -> None:
    """End work that was given up; called wherever a thread waits for a process.

    Raises:
        GivenUp: it was.
    """
    gone = _given_up.get()
    if gone is not None and gone.is_set():
        raise GivenUp
