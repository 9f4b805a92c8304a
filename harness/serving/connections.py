"""Connections whose client is too slow are closed: uvicorn itself bounds only the time between two requests."""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from harness.serving.limits import ServiceLimits

GRACE_SECONDS = 1.0
"""For a request to come on a new connection, before the connection may be closed to make room for its address."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class TimedConnection(H11Protocol):
    """One client's connection, on which a request must arrive whole, and a response be taken, in bounded time."""

    limits: ClassVar[ServiceLimits]
    made: float
    _request_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """As in asyncio; where there are too many, some are closed at once: idle ones before this."""
        super().connection_made(transport)
        self.made = self.loop.time()
        surplus = self._surplus()
        for connection in surplus:
            connection.transport.abort()
        if self not in surplus:
            self._expect()

    @property
    def stranger(self) -> bool:
        """Whether no request was let in on it so far, or the last one was for everybody."""
        return not (self.scope and self.scope["state"].get("admitted"))

    @property
    def idle(self) -> bool:
        """Whether no request is under way on it."""
        return self.cycle is None or self.cycle.response_complete

    def _surplus(self) -> "list[TimedConnection]":
        """The connections that must go: whoever sends nothing keeps out nobody who does."""
        timed = [c for c in self.connections if isinstance(c, TimedConnection) and c is not self]
        others = sorted((c for c in timed if not c.transport.is_closing()), key=lambda connection: connection.made)
        strangers = [c for c in others if c.stranger]
        near = [c for c in strangers if self.client and c.client and c.client[0] == self.client[0]]
        slow = [c for c in near if self.made - c.made > GRACE_SECONDS]
        surplus = slow[: max(0, len(near) + 1 - self.limits.strangers)]
        if len(others) - len(surplus) >= self.limits.connections:
            surplus = (near + strangers + [c for c in others if c.idle] + [self])[:1]
        return surplus

    def data_received(self, data: bytes) -> None:
        """As in asyncio."""
        if self._request_timer is None:
            self._expect()
        super().data_received(data)
        if (self.conn.their_state is not h11.SEND_BODY and self.conn.their_state is not h11.IDLE) or (
            self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        ):
            self._arrived()

    def connection_lost(self, exc: Exception | None) -> None:
        """As in asyncio."""
        self._arrived()
        self._taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """As in asyncio: the client takes nothing."""
        super().pause_writing()
        self._taken()
        self._write_timer = self.loop.call_later(self.limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """As in asyncio: it takes something again."""
        super().resume_writing()
        self._taken()

    def _expect(self) -> None:
        self._request_timer = self.loop.call_later(self.limits.request_seconds, self._give_up)

    def _arrived(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _taken(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _give_up(self) -> None:
        self._request_timer = None
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_LATE)
        self.transport.close()
