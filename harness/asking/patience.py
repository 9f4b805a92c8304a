"""Retries of requests to a chat server."""

import threading
import time
from collections.abc import Callable

from harness.chat import BUSY, ChatProblem, ChatReply, may_pass
from harness.errors import ChatError

FIRST_PAUSE = 1.0
"""Seconds before the first retry, doubled for each next one; the server's own wait takes precedence."""
LONGEST_PAUSE = 120.0
"""Longest wait in seconds that a server may ask for."""
TRIES = {
    ChatProblem.STATUS: 5,
    ChatProblem.UNREACHABLE: 3,
    ChatProblem.BROKE_OFF: 3,
    ChatProblem.TIMEOUT: 2,
    ChatProblem.NO_COMPLETION: 2,
    ChatProblem.TOO_LARGE: 1,
}
"""Requests per reply, by problem."""

Wait = Callable[[float], bool]
"""Waits some seconds; returns whether the run ends instead."""


class Interrupted(Exception):
    """The run ends before a reply came."""


class Patience:
    """Retries for all threads of a run together: while a busy server wants a pause, every thread waits.

    Args:
        wait: `threading.Event.wait` of an event that ends the run.
        now: monotonic clock in seconds.
    """

    def __init__(self, wait: Wait, now: Callable[[], float] = time.monotonic) -> None:
        self._wait = wait
        self._now = now
        self._quiet_until = 0.0
        self._changing = threading.Lock()

    def reply(self, request: Callable[[], ChatReply]) -> tuple[ChatReply, int]:
        """Return the reply to a request, and the number of requests it took.

        Raises:
            ChatError: the server gives no reply, and a retry would not help.
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
