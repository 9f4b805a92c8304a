"""Whatever a model's server sends, a request to it ends by its deadline, in bounded memory, and its key stays here.

Each server runs here on loopback, and each client in a process of its own, so that its peak memory is that of one
exchange.
"""

import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

import pytest

from harness.chat import MAX_REPLY, ChatProblem

SECONDS = 2.0
"""Deadline of a request."""
LATE = 15.0
"""Beyond it, on a busy machine."""
MEMORY = 160 << 20
"""Growth of a client: 4 MiB of the costliest JSON take 135 MiB, and all else is far below."""
MOST_BYTES, MOST_SECONDS = 64 << 20, 30.0
"""Of a hostile server, so that a client without bounds ends as well."""
CLIENT = """
import json, sys, time
from harness import bounded_http
from harness.chat import ChatServer
from harness.errors import ChatError

def memory(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

url, seconds, size = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
server = ChatServer(url, option="--server", keys=("KEY",), timeout=seconds, environment={"KEY": "sk-0123456789abcdef"})
before, began = memory("VmRSS"), time.monotonic()
try:
    found = {"reply": server.complete("m", [{"role": "user", "content": "x" * size}]).text}
except ChatError as error:
    found = {"problem": error.problem, "status": error.status, "wait": error.wait, "words": str(error)}
print(json.dumps(found | {"seconds": time.monotonic() - began, "memory": memory("VmHWM") - before}))
"""
RIGHT = json.dumps({"choices": [{"message": {"content": "here"}}]}).encode()


@dataclass(frozen=True)
class Hostile:
    """A server's way to send.

    Attributes:
        pieces: what it sends, one after the other.
        expected: problems that the client may see; "reply" for none.
        status: of HTTP that the client sees, where the problem is one.
        pause: seconds between two pieces.
        reads: whether it reads the request first.
    """

    pieces: Callable[[], Iterable[bytes]]
    expected: tuple[str, ...]
    status: int | None = None
    pause: float = 0.0
    reads: bool = True


def head(status: int, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} So", "content-type: application/json", *headers, "", ""]).encode()


def then(first: bytes, *rest: Iterable[bytes]) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        yield first
        for part in rest:
            yield from part

    return pieces


def whole(body: bytes, status: int = 200, *headers: str) -> Callable[[], Iterator[bytes]]:
    return then(head(status, f"content-length: {len(body)}", *headers) + body)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@cache
def bomb(pack: Callable[[bytes], bytes]) -> bytes:
    """64 MiB of a reply, packed."""
    return pack(RIGHT[:-1] + b" " * MOST_BYTES + b"}")


BLOCK = b" " * (64 << 10)
LARGE, TIMEOUT, BROKE_OFF, UNREACHABLE, STATUS, NO_COMPLETION = (
    problem.value
    for problem in (
        ChatProblem.TOO_LARGE, ChatProblem.TIMEOUT, ChatProblem.BROKE_OFF, ChatProblem.UNREACHABLE, ChatProblem.STATUS,
        ChatProblem.NO_COMPLETION,
    )
)  # fmt: skip
ERRORS = (400, 401, 404, 429, 500, 503)
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 1), "deflate": lambda data: zlib.compress(data, 1),
    "br": lambda data: data[: 1 << 16], "zstd": lambda data: data[: 1 << 16],
}  # fmt: skip


def json_of(item: bytes) -> bytes:
    """As many items as a reply may hold, as its choices."""
    return b'{"choices": [%s0]}' % (item * ((MAX_REPLY - 1000) // len(item)))


def drip(first: bytes, piece: bytes, *expected: str) -> Hostile:
    """A server that sends a piece ten times a second, for ever."""
    return Hostile(then(first, repeat(piece)), expected or (TIMEOUT,), pause=0.1)


def flood(first: bytes, piece: bytes, *expected: str) -> Hostile:
    """A server that sends as fast as it can, for ever. What is over the library's own limits is no HTTP to it."""
    return Hostile(then(first, repeat(piece * (len(BLOCK) // len(piece)))), expected or (LARGE,))


def reply(body: bytes, expected: str = NO_COMPLETION) -> Hostile:
    return Hostile(whole(body), (expected,))


def tokens(count: bytes) -> Hostile:
    return reply(RIGHT[:-1] + b', "usage": {"prompt_tokens": %s}}' % count)


def packed(name: str, status: int, expected: str) -> Hostile:
    """A server that compresses what it was asked to send as it is."""
    return Hostile(whole(bomb(PACKERS[name]), status, f"content-encoding: {name}"), (expected,), status)


OK = b"HTTP/1.1 200 OK\r\n"
BODY, CHUNKS = head(200), head(200, "transfer-encoding: chunked")
STREAM = BODY.replace(b"application/json", b"text/event-stream")
HINTS = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
BODIES = {
    "a body without end": flood(BODY, b" "),
    "a body a byte at a time": drip(BODY, b" "),
    "chunks without end": flood(CHUNKS, chunk(b" " * 1000)),
    "chunks of a byte without end": flood(CHUNKS, chunk(b" "), LARGE, TIMEOUT),
    "a chunk of a terabyte": flood(CHUNKS + b"ffffffffff\r\n", b" "),
    "a chunk's size without end": flood(CHUNKS, b"0", BROKE_OFF),
    "a chunk's size a byte at a time": drip(CHUNKS, b"0", TIMEOUT, BROKE_OFF),
    "a chunk's extension without end": flood(CHUNKS + b"1;", b"x", BROKE_OFF),
    "trailers without end": flood(CHUNKS + b"0\r\n", b"x: y\r\n", BROKE_OFF),
    "trailers a line at a time": drip(CHUNKS + b"0\r\n", b"x: y\r\n"),
    "a stated length of a terabyte": flood(head(200, f"content-length: {1 << 40}"), b" "),
    "a stated length of 4,000 digits": flood(head(200, f"content-length: {'9' * 4000}"), b" ", LARGE, UNREACHABLE),
    "events without end": flood(STREAM, b"data: {}\n\n"),
    "events, some a second": drip(STREAM, b"data: {}\n\n"),
    "silence after the headers": drip(BODY, b""),
}
HEADS = {
    "silence": drip(b"", b""),
    "headers without end": flood(OK, b"x: y\r\n", UNREACHABLE),
    "headers a line at a time": drip(OK, b"x: y\r\n"),
    "a header without end": flood(OK + b"x: ", b"y", UNREACHABLE),
    "a header a byte at a time": drip(OK + b"x: ", b"y"),
    "the name of a header without end": flood(OK, b"x", UNREACHABLE),
    "a status line without end": flood(b"HTTP/1.1 200 ", b"x", UNREACHABLE),
    "a status line a byte at a time": drip(b"HTTP/1.1 200 ", b"x"),
    "100 without end": flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n", LARGE, TIMEOUT),
    "103 without end": flood(b"", HINTS, LARGE, TIMEOUT),
    "102, some a second": drip(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "101": flood(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", b" ", STATUS, UNREACHABLE),
    "another protocol": drip(b"220 smtp.example ESMTP\r\n", b"", UNREACHABLE, TIMEOUT),
    "bytes of all kinds": flood(b"", bytes(range(256)), UNREACHABLE),
}
REPLIES = {
    "arrays 60,000 deep": reply(b'{"choices":' + b"[" * 60_000 + b"]" * 60_000 + b"}"),
    "objects 60,000 deep": reply(b'{"choices":' * 60_000 + b"0" + b"}" * 60_000),
    "millions of choices that are none": reply(json_of(b"0,")),
    "millions of choices that are empty": reply(json_of(b"{},")),
    "many choices": reply(json_of(b'{"message":{}},')),
    "many arrays in arrays": reply(json_of(b"[[]],")),
    "tokens of 99,999 digits": tokens(b"9" * 99_999),
    "tokens of 4,000 digits": tokens(b"9" * 4000),
    "tokens below none": tokens(b"-1"),
    "half a character": reply(b'{"choices": [{"message": {"content": "\\ud800"}}]}'),
    "fields that come twice": reply(b'{"choices": [], "choices": [{"message": {"content": "here"}}]}', "reply"),
    "a right reply": reply(RIGHT, "reply"),
    "a right reply after hints": Hostile(then(HINTS * 9, whole(RIGHT)()), ("reply",)),
    **{f"a bomb of {name}": packed(name, 200, NO_COMPLETION) for name in PACKERS},
    "a bomb as a coding of transfer": Hostile(
        whole(bomb(PACKERS["gzip"]), 200, "transfer-encoding: gzip"), (UNREACHABLE, NO_COMPLETION, BROKE_OFF)
    ),
}  # fmt: skip
REFUSALS = {
    **{f"{code} without end": Hostile(then(head(code), repeat(BLOCK)), (STATUS,), code) for code in ERRORS},
    **{f"{code} with a bomb of {name}": packed(name, code, STATUS) for code in (400, 429, 500) for name in PACKERS},
    "400 a byte at a time": Hostile(then(head(400), repeat(b"x")), (STATUS,), 400, pause=0.1),
    "429 a byte at a time": Hostile(then(head(429), repeat(b"x")), (STATUS,), 429, pause=0.1),
    "500 with headers a line at a time": drip(b"HTTP/1.1 500 No\r\n", b"x: y\r\n"),
    "500 in objects 6,000 deep": Hostile(whole(b'{"error":' * 6_000 + b"0" + b"}" * 6_000, 500), (STATUS,), 500),
    "401 that breaks off": Hostile(then(head(401, "content-length: 99999") + b'{"error": '), (STATUS,), 401),
    "307 to itself": Hostile(whole(b"", 307, "location: /v1/chat/completions"), (STATUS,), 307),
    "308 to a file, without end": Hostile(then(head(308, "location: file:///etc"), repeat(BLOCK)), (STATUS,), 308),
}
HOSTILE = BODIES | HEADS | REPLIES | REFUSALS


@contextmanager
def listening(hostile: Hostile) -> Iterator[tuple[int, list[int]]]:
    """A server, and how many connections it took."""
    closing, taken = threading.Event(), [0]
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)

    def accept() -> None:
        while not closing.is_set():
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                taken[0] += 1
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    def serve(connection: socket.socket) -> None:
        end, sent = time.monotonic() + MOST_SECONDS, 0
        with connection, suppress(OSError):
            connection.settimeout(MOST_SECONDS)
            if hostile.reads:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += connection.recv(1 << 16)
                headers, _, body = request.partition(b"\r\n\r\n")
                length = int(headers.lower().partition(b"content-length:")[2].split()[0])
                while len(body) < length:
                    body += connection.recv(1 << 16)
            for piece in hostile.pieces():
                connection.sendall(piece)
                sent += len(piece)
                if sent > MOST_BYTES or time.monotonic() > end or closing.wait(hostile.pause):
                    break

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield listener.getsockname()[1], taken
    finally:
        closing.set()
        accepting.join()
        listener.close()


def asked(url: str, seconds: float = SECONDS, size: int = 100) -> dict[str, Any]:
    """What a client in a process of its own found, in which time and memory."""
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, url, str(seconds), str(size)], capture_output=True, text=True, timeout=60,
        env={**os.environ, "NO_PROXY": "127.0.0.1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_every_way_to_send_ends_in_time_and_memory(name: str) -> None:
    hostile = HOSTILE[name]
    with listening(hostile) as (port, taken):
        found = asked(f"http://127.0.0.1:{port}/v1")
    assert found.get("problem", "reply") in hostile.expected, found
    if found.get("problem") == STATUS:
        assert found["status"] == hostile.status or hostile.status is None
    assert found["seconds"] < SECONDS + LATE and found["memory"] < MEMORY, found
    assert taken == [1] and "sk-" not in str(found), "one request is one connection, to one place"


@pytest.mark.parametrize("pause", [0.0, 0.01])
def test_a_server_that_does_not_read_ends_in_time(pause: float) -> None:
    """Not at all, or a little at a time."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closing = threading.Event()

        def read_slowly() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                while not closing.wait(pause or 0.1) and (not pause or connection.recv(100)):
                    pass

        threading.Thread(target=read_slowly, daemon=True).start()
        found = asked(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", size=32 << 20)
        closing.set()
    assert found["problem"] == TIMEOUT and found["seconds"] < SECONDS + LATE, found


def test_a_handshake_that_never_comes_ends_in_time() -> None:
    with listening(Hostile(lambda: repeat(b""), (TIMEOUT,), pause=0.1, reads=False)) as (port, _):
        found = asked(f"https://127.0.0.1:{port}/v1")
    assert found["problem"] == TIMEOUT and found["seconds"] < SECONDS + LATE


def test_a_name_with_many_addresses_has_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of which takes no connection and refuses none."""
    from harness import bounded_http

    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        address = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))
        found = {"many.example": [address] * 50, "127.0.0.1": [address]}
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: found[host])
        began = time.monotonic()
        with pytest.raises(bounded_http.ExchangeError) as raised:
            bounded_http.post(f"http://many.example:{port}/", {}, b"", seconds=1, limit=1000)
        for filler in fillers:
            filler.close()
    assert raised.value.problem is bounded_http.ExchangeProblem.LATE and time.monotonic() - began < 1 + LATE


WAITS = {
    "1e9": 1e9, "999999999999": 999999999999.0, "-5": 0.0, "nan": 0.0, "soon": None, "": None,
    "Thu, 01 Jan 1970 00:00:00 GMT": 0.0, "1 Jan 99999999999999999999 00:00:00 GMT": None,
    "Mon, 01 Jan 2024 00:00:00 +99999999": None, "9" * 5000: float("inf"),
}  # fmt: skip


@pytest.mark.parametrize("stated", WAITS, ids=lambda stated: stated[:40])
def test_a_wait_that_nobody_would_keep_is_no_error_of_ours(stated: str) -> None:
    with listening(Hostile(whole(b"{}", 429, f"retry-after: {stated}"), (STATUS,))) as (port, _):
        found = asked(f"http://127.0.0.1:{port}/v1")
    assert found["problem"] == STATUS and found["status"] == 429 and found["wait"] == WAITS[stated]
