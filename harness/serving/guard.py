"""What every request passes before anything reads it: who sends it, how often, how much, and in what form."""

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
"""Paths that tell nothing of anybody, for anybody."""
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
MAX_HEADERS, MAX_HEADER_BYTES = 100, 16 << 10
ADDRESSES = 4096
"""Addresses and tokens whose requests are counted; the one that was longest silent makes room."""

_log = logging.getLogger("harness.serving")


class RefusedRequest(Exception):
    """A request that goes no further.

    Attributes:
        status: of HTTP.
        error: the kind of problem, in one word for programs.
        message: the problem, for people.
        wait: seconds after which to try again, where that helps.
    """

    def __init__(self, status: int, error: str, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.wait = wait

    @property
    def body(self) -> bytes:
        """What the client is told."""
        return json.dumps({"error": self.error, "message": self.message}).encode()

    @property
    def headers(self) -> dict[str, str]:
        """Of the response."""
        found = {"content-type": "application/json"}
        if self.wait is not None:
            found["retry-after"] = str(max(1, round(self.wait)))
        if self.status == 401:
            found["www-authenticate"] = "Bearer"
        return found


class RequestRate:
    """A bound on how often something happens, for each of many names.

    Args:
        rate: a second, over any long time.
        burst: at once.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str, cost: float = 1.0) -> float:
        """Seconds until it may happen; 0 where it may now, and is counted."""
        now = time.monotonic()
        left, then = self._left.pop(name, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        wait = max(0.0, (cost - left) / self._rate)
        self._left[name] = (left if wait else left - cost, now)
        if len(self._left) > ADDRESSES:
            self._left.popitem(last=False)
        return wait


class SharedRoom:
    """Room that many take from: nobody takes more than it leaves free, so that whoever comes next finds some.

    One alone takes half of it; where two take all they can, a third is left.

    Args:
        size: of the room.
    """

    def __init__(self, size: int) -> None:
        self._free = size
        self._taken: Counter[str] = Counter()

    def take(self, name: str, amount: int) -> bool:
        """Take so much more for a name where there is that much, and return whether there was."""
        if self._taken[name] + amount > self._free - amount:
            return False
        self._taken[name] += amount
        self._free -= amount
        return True

    def give_back(self, name: str, amount: int) -> None:
        """Return what was taken."""
        self._taken[name] -= amount
        self._free += amount
        if not self._taken[name]:
            del self._taken[name]


class RequestGuard:
    """ASGI middleware: refuses what may not come in, and reads the body of what may.

    Args:
        app: what comes after it.
        tokens: who may use the service.
        limits: how much is taken.
        metrics: where responses are counted.
        open_here: whether the server is used without tokens, on a loopback address. The first token that is made ends
            this, until the server is started again.
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
        """As ASGI applications are called."""
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
            entry = self._admitted(scope)
            who, holder = (entry.name, entry.id) if entry else ("", _address(scope))
            state = scope.setdefault("state", {})
            state["token"], state["admitted"] = entry, scope["path"] not in OPEN
            if state["admitted"]:
                if not self._under_way.take(holder, 1):
                    raise RefusedRequest(429, "busy", "too many requests are under way", 1)
                taken = 1
            body = await self._body(scope, receive, holder)
            if body is None:  # the client has gone
                return
            buffered = len(body)
            await self._app(scope, _replayed(body, receive), sending)
        except RefusedRequest as refused:
            await _respond(sending, refused)
        finally:
            self._bodies.give_back(holder, buffered)
            self._under_way.give_back(holder, taken)
            self._metrics.responded(seen["status"])
            if scope["path"] not in OPEN:
                spent = round(1000 * (time.monotonic() - begun), 1)
                facts = {"method": scope["method"], "path": scope["path"][:100], "status": seen["status"]}
                _log.info("request", extra={"facts": {**facts, "token": who, "milliseconds": spent}})

    def _admitted(self, scope: AsgiScope) -> TokenEntry | None:
        """Whose request it is; None where none needs to say.

        Raises:
            RefusedRequest: it may not come in.
        """
        headers = _headers(scope)
        if scope["path"] in OPEN:
            return None
        address = _address(scope)
        try:
            self._open_here = self._open_here and not self._tokens.entries()
            if self._open_here:
                _from_here(headers.get("host", ""))
                entry = None
            else:
                entry = self._owner(headers.get("authorization", ""), address)
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

    def _owner(self, authorization: str, address: str) -> TokenEntry:
        kind, _, token = authorization.partition(" ")
        entry = self._tokens.owner(token.strip()) if kind.lower() == "bearer" else None
        if entry is not None:
            return entry
        if wait := self._failures.wait(address):
            raise RefusedRequest(429, "too_many_failures", "too many requests without a valid token", wait)
        raise RefusedRequest(401, "no_valid_token", "send a valid token: Authorization: Bearer TOKEN")

    async def _body(self, scope: AsgiScope, receive: AsgiReceive, holder: str) -> bytes | None:
        """The whole body, its room taken for a holder; None where the client went away before its end.

        Raises:
            RefusedRequest: it is too large, or in a form that is not read.
        """
        headers = _headers(scope)
        bound = self._limits.body_bytes if scope["method"] == "POST" and scope["path"] not in OPEN else 0
        too_large = RefusedRequest(413, "too_large", f"a request has at most {bound} bytes")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise RefusedRequest(415, "encoded", "send the body as it is, without Content-Encoding")
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or len(declared) > 15 or int(declared) > bound:
            raise too_large
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        # a web page cannot send this type to another site without asking, and is told no
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
            if more:  # it is not passed on
                self._bodies.give_back(holder, len(body))
        return bytes(body)


def _address(scope: AsgiScope) -> str:
    return str((scope.get("client") or ("unknown", 0))[0])


def _headers(scope: AsgiScope) -> dict[str, str]:
    """The headers by name.

    Raises:
        RefusedRequest: they are too many or too large, one that decides something comes twice, or the length of the
            body is stated in two ways.
    """
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


def _from_here(host: str) -> None:
    """Refuse what a web page makes a browser on this machine send under another name.

    Raises:
        RefusedRequest: the request is for another host.
    """
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name.lower() not in LOCAL_NAMES:
        raise RefusedRequest(403, "other_host", "without tokens this server answers to localhost only")


def _replayed(body: bytes, receive: AsgiReceive) -> AsgiReceive:
    """Gives a body that was read already, and then what comes after it."""
    given = False

    async def replayed() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


async def _respond(send: AsgiSend, refused: RefusedRequest) -> None:
    headers = {**refused.headers, "content-length": str(len(refused.body)), "connection": "close"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": raw})
    await send({"type": "http.response.body", "body": refused.body})
