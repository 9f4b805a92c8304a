"""One HTTP request to a server that nobody vouches for: one deadline and one bound on bytes hold for all of it.

Nothing is decoded, kept open or followed: a redirect is a response like any other.
"""

import socket
import ssl
import time
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import httpcore2

ERROR_BYTES, ERROR_SECONDS = 64 << 10, 10.0
"""Of the words that come with an error, read so much and for so long: a message is cut to a few lines."""
_PIECE = 4 << 10
"""Bytes that a socket which can be written to takes at once."""
_PLAIN = "/?%:@!$&'()*+,;=~"
"""Characters that stand in a URL as they are, besides letters and digits."""


class ExchangeProblem(StrEnum):
    """The reason for which there is no response."""

    LATE = "it is not complete in time"
    TOO_LARGE = "it is too large"
    UNREACHABLE = "nothing came"
    BROKE_OFF = "it broke off"


class ExchangeError(Exception):
    """There is no response.

    Attributes:
        problem: the kind of problem.
        words: what the library says of it.
    """

    def __init__(self, problem: ExchangeProblem, words: str) -> None:
        super().__init__(words)
        self.problem = problem
        self.words = words


class _OversizeError(Exception):
    """More bytes came than were allowed."""


_FAULTS = (
    OSError, httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, httpcore2.ProxyError,
    _OversizeError,
)  # fmt: skip


@dataclass(frozen=True)
class HttpResponse:
    """The response of a server.

    Attributes:
        status: of HTTP.
        headers: by lower-case name; the last of those that share one.
        body: as it came; of an error, its first part.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def successful(self) -> bool:
        """Whether the server did what it was asked for."""
        return self.status // 100 == 2


def post(url: str, headers: Mapping[str, str], body: bytes, *, seconds: float, limit: int) -> HttpResponse:
    """Send one request on a connection of its own, and return the response.

    Args:
        url: as `ascii_url` writes it, of scheme http or https.
        headers: of the request.
        body: of the request.
        seconds: from now to the response's last byte, whatever the server sends or leaves out.
        limit: bytes read from the server: of the response and of everything before it and around it.

    Raises:
        ExchangeError: there is none within these bounds.
    """
    budget = _Budget(seconds, limit)
    reached = False
    try:
        with (
            httpcore2.ConnectionPool(proxy=_proxy(url), network_backend=_BoundedNetwork(budget)) as pool,
            pool.stream("POST", url, headers=[*headers.items()], content=body) as response,
        ):
            reached = True
            named = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            return HttpResponse(response.status, named, _body(response, budget))
    except _FAULTS as error:
        if isinstance(error, _OversizeError):
            problem = ExchangeProblem.TOO_LARGE
        elif budget.is_over:
            problem = ExchangeProblem.LATE
        else:
            problem = ExchangeProblem.BROKE_OFF if reached else ExchangeProblem.UNREACHABLE
        raise ExchangeError(problem, str(error)) from None


class _Budget:
    """The time and the bytes that one exchange has left.

    Args:
        seconds: from now on.
        limit: bytes that may arrive.
    """

    def __init__(self, seconds: float, limit: int) -> None:
        self._deadline = time.monotonic() + seconds
        self._bytes = limit

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self._deadline

    def shorten(self, seconds: float) -> None:
        """End in so many seconds, if not sooner."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def seconds_left(self) -> float:
        """Return the seconds that the next wait may take.

        Raises:
            TimeoutException: there are none left.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore2.TimeoutException("the deadline has passed")
        return left

    def spend(self, count: int) -> None:
        """Count bytes that arrived.

        Raises:
            _OversizeError: there are more than allowed.
        """
        self._bytes -= count
        if self._bytes < 0:
            raise _OversizeError("more was sent than is read")


class _BoundedStream(httpcore2.NetworkStream):
    """A connection on which no wait goes beyond the budget; the library's own time limits are not used."""

    def __init__(self, stream: httpcore2.NetworkStream, budget: _Budget) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(max_bytes, self._budget.seconds_left())
        self._budget.spend(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # the library's own loop gives every part that a slow reader takes the whole time again
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], self._budget.seconds_left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        secured = self._stream.start_tls(ssl_context, server_hostname, self._budget.seconds_left())
        return _BoundedStream(secured, self._budget)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _BoundedNetwork(httpcore2.NetworkBackend):
    """Opens connections that share one budget."""

    def __init__(self, budget: _Budget) -> None:
        self._budget = budget
        self._network = httpcore2.SyncBackend()

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:  # fmt: skip
        failed: Exception = httpcore2.ConnectError(f"{host} has no address")
        # the library would give every address of a name the whole time
        for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            try:
                left = self._budget.seconds_left()
                stream = self._network.connect_tcp(str(address[0]), port, left, local_address, socket_options)
                return _BoundedStream(stream, self._budget)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed


def _body(response: httpcore2.Response, budget: _Budget) -> bytes:
    """The whole body of a success; of anything else what comes of it within the bounds for errors."""
    body = bytearray()
    successful = response.status // 100 == 2
    if not successful:
        budget.shorten(ERROR_SECONDS)
    try:
        for chunk in response.iter_stream():
            body += chunk
            if not successful and len(body) > ERROR_BYTES:
                break
    except _FAULTS:
        if successful:
            raise
    return bytes(body)


def _proxy(url: str) -> httpcore2.Proxy | None:
    """The proxy that the environment names for a URL."""
    parts = urlsplit(url)
    named = urllib.request.getproxies()
    place = named.get(parts.scheme) or named.get("all")
    if not place or urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    proxy = urlsplit(place if "://" in place else f"http://{place}")
    auth = (proxy.username, proxy.password or "") if proxy.username else None
    return httpcore2.Proxy(proxy._replace(netloc=proxy.netloc.rpartition("@")[2]).geturl(), auth=auth)


def ascii_url(url: str, more: str = "") -> str:
    """A URL as it is sent: without user and password, its characters escaped.

    Args:
        url: of an API.
        more: added to its path.

    Raises:
        ValueError: it is none.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").encode("idna").decode()
    place = f"[{host}]" if ":" in host else host
    port = "" if parts.port is None else f":{parts.port}"
    path, query = (quote(text, _PLAIN) for text in (parts.path.rstrip("/") + more, parts.query))
    return urlunsplit((parts.scheme, place + port, path, query, ""))
