"""Limits of one server."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ServiceLimits:
    """Bounds of a server.

    Attributes:
        body_bytes: size of one request.
        batch: submissions per request.
        queue: unfinished submissions.
        rate: sustained requests per second and token; bursts reach twice as many.
        failures: requests per minute and address with a wrong token.
        wait_seconds: longest wait for a record.
        request_seconds: longest arrival of a whole request.
        idle_seconds: longest pause between requests of a connection.
        write_seconds: time that a client may leave a response unread.
        connections: open connections, and concurrent requests.
        strangers: connections per address without a valid token.
        keep_days: days that a finished grade stays available.
    """

    body_bytes: int = 4 << 20
    batch: int = 256
    queue: int = 1000
    rate: float = 100.0
    failures: int = 20
    wait_seconds: float = 60.0
    request_seconds: float = 20.0
    idle_seconds: int = 30
    write_seconds: float = 30.0
    connections: int = 1000
    strangers: int = 100
    keep_days: float = 7.0

    @property
    def buffered_bytes(self) -> int:
        """Total bytes of all requests being read."""
        return max(64 << 20, 4 * self.body_bytes)
