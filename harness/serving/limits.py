"""How much one server takes, from one client and from all."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ServiceLimits:
    """Bounds of a server; what exceeds one is refused with a status that says so.

    Attributes:
        body_bytes: of one request.
        batch: answers of one request.
        queue: answers that wait or are graded.
        rate: requests a second of one token, over any long time; twice as many at once.
        failures: requests with a wrong token a minute from one address.
        wait_seconds: the longest that a request may wait for its record.
        request_seconds: in which a whole request must have arrived.
        idle_seconds: that a connection may stay without a request.
        write_seconds: that a client may take nothing of a response.
        connections: open at once; and requests under way at once.
        strangers: connections of one address on which no valid token has come.
        keep_days: that a finished grade can be asked for.
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
        """Bytes of all requests that are being read."""
        return max(64 << 20, 4 * self.body_bytes)
