"""Connections with time limits: uvicorn bounds only the time between two requests."""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from harness.serving.limits import ServiceLimits

GRACE_SECONDS = 1.0
"""Age in seconds at which a connection without a request may be closed in favour of a new one."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class TimedConnection(H11Protocol):
    """A connection with time limits on requests and responses."""

    limits: ClassVar[ServiceLimits]
    made: float
    _request_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Accept a connection; beyond the limits, abort surplus ones, idle ones first."""
        super().connection_made(transport)
        self.made = self.loop.time()
        surplus = self._find_surplus()
        for connection in surplus:
            connection.transport.abort()
        if self not in surplus:
            self._start_request_timer()

    @property
    def stranger(self) -> bool:
        """True if the last request was for an open path, or none was admitted."""
        return not (self.scope and self.scope["state"].get("admitted"))

    @property
    def idle(self) -> bool:
        """True without a request under way."""
        return self.cycle is None or self.cycle.response_complete

    def _find_surplus(self) -> "list[TimedConnection]":
        """Return the connections to abort, so that silent clients lock nobody out."""
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
        """Time a request from its first data to its last."""
        if self._request_timer is None:
            self._start_request_timer()
        super().data_received(data)
        if (self.conn.their_state is not h11.SEND_BODY and self.conn.their_state is not h11.IDLE) or (
            self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        ):
            self._stop_request_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_request_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the write timer: the client stopped reading."""
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(self.limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the write timer."""
        super().resume_writing()
        self._stop_write_timer()

    def _start_request_timer(self) -> None:
        self._request_timer = self.loop.call_later(self.limits.request_seconds, self._give_up)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _stop_write_timer(self) -> None:
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
