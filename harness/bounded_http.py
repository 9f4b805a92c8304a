"""One HTTP request to an untrusted server, under one deadline and one limit on bytes.

Responses are not decoded, connections not reused, redirects not followed.
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
"""Bytes and seconds for the body of an error, which a message shortens to a few lines."""
_PIECE = 4 << 10
"""Most bytes that a writable socket accepts at once."""
_PLAIN = "/?%:@!$&'()*+,;=~"
"""Characters left unescaped in a URL, besides letters and digits."""


class ExchangeProblem(StrEnum):
    """The reason for a missing response."""

    LATE = "it is not complete in time"
    TOO_LARGE = "it is too large"
    UNREACHABLE = "nothing came"
    BROKE_OFF = "it broke off"


class ExchangeError(Exception):
    """There is no response.

    Attributes:
        words: message of the library.
    """

    def __init__(self, problem: ExchangeProblem, words: str) -> None:
        super().__init__(words)
        self.problem = problem
        self.words = words


class _OversizeError(Exception):
    """Too many bytes arrived."""


_FAULTS = (
    OSError,
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    _OversizeError,
)


@dataclass(frozen=True)
class HttpResponse:
    """The response of a server.

    Attributes:
        headers: headers by lower-case name; the last one of duplicates.
        body: raw body; for an error, its beginning.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def successful(self) -> bool:
        """True if the status is 2xx."""
        return self.status // 100 == 2


def post(url: str, headers: Mapping[str, str], body: bytes, *, seconds: float, limit: int) -> HttpResponse:
    """Send one request on its own connection, and return the response.

    Args:
        url: http or https URL from `ascii_url`.
        seconds: total time until the response's last byte.
        limit: most bytes read from the server, of the response and everything around it.

    Raises:
        ExchangeError: there is no response within these limits.
    """
    budget = _Budget(seconds, limit)
    reached = False
    try:
        with (
            httpcore2.ConnectionPool(proxy=_find_proxy(url), network_backend=_BoundedNetwork(budget)) as pool,
            pool.stream("POST", url, headers=[*headers.items()], content=body) as response,
        ):
            reached = True
            named = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            return HttpResponse(response.status, named, _read_body(response, budget))
    except _FAULTS as error:
        if isinstance(error, _OversizeError):
            problem = ExchangeProblem.TOO_LARGE
        elif budget.is_over:
            problem = ExchangeProblem.LATE
        else:
            problem = ExchangeProblem.BROKE_OFF if reached else ExchangeProblem.UNREACHABLE
        raise ExchangeError(problem, str(error)) from None


class _Budget:
    """Remaining time and bytes of one exchange."""

    def __init__(self, seconds: float, limit: int) -> None:
        self._deadline = time.monotonic() + seconds
        self._bytes = limit

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._deadline

    def shorten(self, seconds: float) -> None:
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def compute_remaining_seconds(self) -> float:
        """Return the longest next wait in seconds.

        Raises:
            TimeoutException: the deadline has passed.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore2.TimeoutException("the deadline has passed")
        return left

    def spend(self, count: int) -> None:
        """Count bytes that arrived.

        Raises:
            _OversizeError: they exceed the limit.
        """
        self._bytes -= count
        if self._bytes < 0:
            raise _OversizeError("more was sent than is read")


class _BoundedStream(httpcore2.NetworkStream):
    """A connection whose waits stay within the budget, regardless of the library's time limits."""

    def __init__(self, stream: httpcore2.NetworkStream, budget: _Budget) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(max_bytes, self._budget.compute_remaining_seconds())
        self._budget.spend(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # the library's own loop would restart the timeout for each part that a slow reader takes
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], self._budget.compute_remaining_seconds())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        secured = self._stream.start_tls(ssl_context, server_hostname, self._budget.compute_remaining_seconds())
        return _BoundedStream(secured, self._budget)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _BoundedNetwork(httpcore2.NetworkBackend):
    def __init__(self, budget: _Budget) -> None:
        self._budget = budget
        self._network = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failed: Exception = httpcore2.ConnectError(f"{host} has no address")
        # the library would give each address of a name the full timeout
        for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            try:
                left = self._budget.compute_remaining_seconds()
                stream = self._network.connect_tcp(str(address[0]), port, left, local_address, socket_options)
                return _BoundedStream(stream, self._budget)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed


def _read_body(response: httpcore2.Response, budget: _Budget) -> bytes:
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


def _find_proxy(url: str) -> httpcore2.Proxy | None:
    parts = urlsplit(url)
    named = urllib.request.getproxies()
    place = named.get(parts.scheme) or named.get("all")
    if not place or urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    proxy = urlsplit(place if "://" in place else f"http://{place}")
    auth = (proxy.username, proxy.password or "") if proxy.username else None
    return httpcore2.Proxy(proxy._replace(netloc=proxy.netloc.rpartition("@")[2]).geturl(), auth=auth)


def ascii_url(url: str, more: str = "") -> str:
    """Return a URL to send, escaped and without user and password.

    Args:
        url: URL of an API.
        more: suffix of its path.

    Raises:
        ValueError: the URL is invalid.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").encode("idna").decode()
    place = f"[{host}]" if ":" in host else host
    port = "" if parts.port is None else f":{parts.port}"
    path, query = (quote(text, _PLAIN) for text in (parts.path.rstrip("/") + more, parts.query))
    return urlunsplit((parts.scheme, place + port, path, query, ""))
