"""When a server that gives no reply is asked again: where that may help, after the wait it asks for."""

import threading
import time
from collections.abc import Callable

from harness.chat import BUSY, ChatProblem, ChatReply, may_pass
from harness.errors import ChatError

FIRST_PAUSE = 1.0
"""Seconds before the second request; twice as long before each next, where the server asks for no wait of its own."""
LONGEST_PAUSE = 120.0
"""A server that asks for more is not waited for."""
TRIES = {
    ChatProblem.STATUS: 5, ChatProblem.UNREACHABLE: 3, ChatProblem.BROKE_OFF: 3, ChatProblem.TIMEOUT: 2,
    ChatProblem.NO_COMPLETION: 2, ChatProblem.TOO_LARGE: 1,
}  # fmt: skip
"""Requests for one reply, by what goes wrong."""

Wait = Callable[[float], bool]
"""Waits so many seconds; whether everything is to end instead."""


class Interrupted(Exception):
    """The run ends before a reply came."""


class Patience:
    """Asks again, for all threads of a run together: while a server wants to be left alone, none of them asks it.

    Args:
        wait: as `threading.Event.wait` of an event that ends the run.
        now: seconds of a clock that only goes forward.
    """

    def __init__(self, wait: Wait, now: Callable[[], float] = time.monotonic) -> None:
        self._wait = wait
        self._now = now
        self._quiet_until = 0.0
        self._changing = threading.Lock()

    def reply(self, request: Callable[[], ChatReply]) -> tuple[ChatReply, int]:
        """The reply to a request, and how many requests it took.

        Raises:
            ChatError: there is none, and asking again does not help.
            Interrupted: the run ends.
        """
        number = 0
        while True:
            number += 1
            self._keep_quiet()
            try:
                return request(), number
            except ChatError as error:
                pause = FIRST_PAUSE * 2 ** (number - 1) if error.wait is None else error.wait
                if not may_pass(error) or number >= TRIES[ChatProblem(error.problem)] or pause > LONGEST_PAUSE:
                    raise
                if error.status in BUSY:
                    with self._changing:
                        self._quiet_until = max(self._quiet_until, self._now() + pause)
                elif self._wait(pause):
                    raise Interrupted from None

    def _keep_quiet(self) -> None:
        while (left := self._quiet_until - self._now()) > 0:
            if self._wait(left):
                raise Interrupted
        if self._wait(0):
            raise Interrupted
