"""Checks of every request before anything parses it: sender, rate, size and form."""

import json
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from harness.errors import StoreError
from harness.serving.limits import ServiceLimits
from harness.serving.metrics import ServiceMetrics
from harness.serving.tokens import Scope, TokenEntry, TokenFile

AsgiScope = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[MutableMapping[str, Any]]]
AsgiSend = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[AsgiScope, AsgiReceive, AsgiSend], Awaitable[None]]

OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""Paths open to everyone; they reveal nothing about clients."""
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
MAX_HEADERS, MAX_HEADER_BYTES = 100, 16 << 10
ADDRESSES = 4096
"""Addresses and tokens with a rate count; the least recently active makes room."""

_log = logging.getLogger("harness.serving")


class RefusedRequest(Exception):
    """A refused request: its kind in one word, a message for people, and the seconds after which to retry, if any."""

    def __init__(self, status: int, error: str, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.wait = wait

    @property
    def body(self) -> bytes:
        """`error` and `message` as JSON."""
        return json.dumps({"error": self.error, "message": self.message}).encode()

    @property
    def headers(self) -> dict[str, str]:
        """Response headers."""
        found = {"content-type": "application/json"}
        if self.wait is not None:
            found["retry-after"] = str(max(1, round(self.wait)))
        if self.status == 401:
            found["www-authenticate"] = "Bearer"
        return found


class RequestRate:
    """Token buckets by name.

    Args:
        rate: sustained events per second.
        burst: events at once.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str, cost: float = 1.0) -> float:
        """Return seconds until the event is allowed; 0 allows it now and counts it."""
        now = time.monotonic()
        left, then = self._left.pop(name, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        wait = max(0.0, (cost - left) / self._rate)
        self._left[name] = (left if wait else left - cost, now)
        if len(self._left) > ADDRESSES:
            self._left.popitem(last=False)
        return wait


class SharedRoom:
    """A budget of which each holder may take at most as much as it leaves free.

    One holder gets up to half, and two greedy ones leave a third, so a newcomer always finds room.
    """

    def __init__(self, size: int) -> None:
        self._free = size
        self._taken: Counter[str] = Counter()

    def take(self, name: str, amount: int) -> bool:
        """Take an amount if the rule allows it; return whether it did."""
        if self._taken[name] + amount > self._free - amount:
            return False
        self._taken[name] += amount
        self._free -= amount
        return True

    def give_back(self, name: str, amount: int) -> None:
        """Return an amount that a name took."""
        self._taken[name] -= amount
        self._free += amount
        if not self._taken[name]:
            del self._taken[name]


class RequestGuard:
    """ASGI middleware that refuses inadmissible requests and reads the bodies of the others.

    Args:
        open_here: true for a server without tokens on a loopback address, until the first token is created.
    """

    def __init__(
        self, app: AsgiApp, tokens: TokenFile, limits: ServiceLimits, metrics: ServiceMetrics, open_here: bool
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._limits = limits
        self._metrics = metrics
        self._open_here = open_here
        self._requests = RequestRate(limits.rate, 2 * limits.rate)
        self._failures = RequestRate(limits.failures / 60, limits.failures)
        self._bodies = SharedRoom(limits.buffered_bytes)
        self._under_way = SharedRoom(limits.connections)

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        """Pass an admitted request on, or respond with a refusal."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, seen = time.monotonic(), {"status": 0}
        who, holder, taken, buffered = "", "", 0, 0

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                plain = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
                message["headers"] = [*message.get("headers", ()), *plain]
            await send(message)

        try:
            entry = self._admit(scope)
            who, holder = (entry.name, entry.id) if entry else ("", _get_address(scope))
            state = scope.setdefault("state", {})
            state["token"], state["admitted"] = entry, scope["path"] not in OPEN
            if state["admitted"]:
                if not self._under_way.take(holder, 1):
                    raise RefusedRequest(429, "busy", "too many requests are under way", 1)
                taken = 1
            body = await self._read_body(scope, receive, holder)
            if body is None:  # the client disconnected
                return
            buffered = len(body)
            await self._app(scope, _replay(body, receive), sending)
        except RefusedRequest as refused:
            await _respond(sending, refused)
        finally:
            self._bodies.give_back(holder, buffered)
            self._under_way.give_back(holder, taken)
            self._metrics.count_response(seen["status"])
            if scope["path"] not in OPEN:
                spent = round(1000 * (time.monotonic() - begun), 1)
                facts = {"method": scope["method"], "path": scope["path"][:100], "status": seen["status"]}
                _log.info("request", extra={"facts": {**facts, "token": who, "milliseconds": spent}})

    def _admit(self, scope: AsgiScope) -> TokenEntry | None:
        """Return the request's token; None on an open path or server."""
        headers = _read_headers(scope)
        if scope["path"] in OPEN:
            return None
        address = _get_address(scope)
        try:
            self._open_here = self._open_here and not self._tokens.entries()
            if self._open_here:
                _require_local_host(headers.get("host", ""))
                entry = None
            else:
                entry = self._authenticate(headers.get("authorization", ""), address)
        except StoreError as error:
            _log.error("tokens", extra={"facts": {"error": str(error).partition("\n")[0]}})
            raise RefusedRequest(503, "tokens_unreadable", "the server cannot read its tokens", 30) from None
        wanted = Scope.READ if scope["path"] == "/metrics" else None
        if scope["method"] not in ("GET", "HEAD"):
            wanted = Scope.GRADE
        if entry is not None and wanted is not None and wanted not in entry.scopes:
            raise RefusedRequest(403, "out_of_scope", f"this needs a token of the scope {wanted}")
        if wait := self._requests.wait(entry.id if entry else address):
            raise RefusedRequest(429, "too_many_requests", f"at most {self._limits.rate:g} requests a second", wait)
        return entry

    def _authenticate(self, authorization: str, address: str) -> TokenEntry:
        kind, _, token = authorization.partition(" ")
        entry = self._tokens.owner(token.strip()) if kind.lower() == "bearer" else None
        if entry is not None:
            return entry
        if wait := self._failures.wait(address):
            raise RefusedRequest(429, "too_many_failures", "too many requests without a valid token", wait)
        raise RefusedRequest(401, "no_valid_token", "send a valid token: Authorization: Bearer TOKEN")

    async def _read_body(self, scope: AsgiScope, receive: AsgiReceive, holder: str) -> bytes | None:
        """Return the whole body, charged to `holder`; None if the client disconnected early."""
        headers = _read_headers(scope)
        bound = self._limits.body_bytes if scope["method"] == "POST" and scope["path"] not in OPEN else 0
        too_large = RefusedRequest(413, "too_large", f"a request has at most {bound} bytes")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise RefusedRequest(415, "encoded", "send the body as it is, without Content-Encoding")
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or len(declared) > 15 or int(declared) > bound:
            raise too_large
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        # browsers ask before a page sends this type to another site, and we never allow it
        if scope["method"] == "POST" and kind != "application/json":
            raise RefusedRequest(415, "no_json", "send JSON, with Content-Type: application/json")
        body, more = bytearray(), True
        try:
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part = message.get("body", b"")
                if len(body) + len(part) > bound:
                    raise too_large
                if not self._bodies.take(holder, len(part)):
                    raise RefusedRequest(429, "busy", "too much is being sent at once", 1)
                body += part
                more = message.get("more_body", False)
        finally:
            if more:  # refused or disconnected: free its room
                self._bodies.give_back(holder, len(body))
        return bytes(body)


def _get_address(scope: AsgiScope) -> str:
    return str((scope.get("client") or ("unknown", 0))[0])


def _read_headers(scope: AsgiScope) -> dict[str, str]:
    if len(scope["headers"]) > MAX_HEADERS or sum(len(n) + len(v) for n, v in scope["headers"]) > MAX_HEADER_BYTES:
        raise RefusedRequest(431, "headers_too_large", f"send at most {MAX_HEADERS} headers, {MAX_HEADER_BYTES} bytes")
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in found and name in ("authorization", "content-length", "content-type", "host", "idempotency-key"):
            raise RefusedRequest(400, "repeated_header", f"{name} comes twice")
        found[name] = value.decode("latin-1")
    if "content-length" in found and "transfer-encoding" in found:
        raise RefusedRequest(400, "two_lengths", "the length of the body is stated in two ways")
    return found


def _require_local_host(host: str) -> None:
    """Refuse other host names, which a web page can make a local browser send (DNS rebinding)."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name.lower() not in LOCAL_NAMES:
        raise RefusedRequest(403, "other_host", "without tokens this server answers to localhost only")


def _replay(body: bytes, receive: AsgiReceive) -> AsgiReceive:
    given = False

    async def replay() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _respond(send: AsgiSend, refused: RefusedRequest) -> None:
    headers = {**refused.headers, "content-length": str(len(refused.body)), "connection": "close"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": raw})
    await send({"type": "http.response.body", "body": refused.body})
