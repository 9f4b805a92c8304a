"""Whatever one client holds of a server, connections, bodies or waiting requests, others are served meanwhile."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from servers import Server, answer, received, serving

from harness.serving.guard import AsgiReceive, AsgiScope, AsgiSend, RequestGuard, SharedRoom
from harness.serving.limits import ServiceLimits
from harness.serving.metrics import ServiceMetrics
from harness.serving.tokens import Scope, TokenFile
from tests.toy import REFERENCE, make_workspace

TOKENS: dict[str, str] = {}
IDLE = 1100
HEALTHY = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = make_workspace(tmp_path_factory.mktemp("shared")).root
    file = TokenFile(root / ".harness" / "service_tokens.json")
    for name in ("greedy", "other"):
        TOKENS[name] = file.add(name, (Scope.GRADE,))
    with serving(root, "--rate", "1000", token=TOKENS["other"]) as server:
        yield server


@contextlib.contextmanager
def holding(server: Server, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """So many connections on which something was sent, and nothing more comes."""
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(count):
            held.append(stack.enter_context(server.connected()))
            with contextlib.suppress(ConnectionError):
                held[-1].sendall(sent)
        yield held


STRANGERS = {
    "nothing": b"",
    "half a request": b"GET /v1/grades/x HTTP/1.1\r\nhost: localhost\r\n",
    "a body for everybody": b"POST /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999\r\n\r\nx",
    "chunks for everybody": b"POST /readyz HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n",
    "a wrong token": b"GET /v1/grades/x HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n\r\n",
}


def connections(port: int) -> int:
    """Count the established connections at a port of the loopback device."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:])
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


@pytest.mark.parametrize("sent", STRANGERS)
def test_connections_without_a_token_block_nobody(server: Server, sent: str) -> None:
    """From the same address as those who are served: no address keeps the room of another."""
    with holding(server, IDLE, STRANGERS[sent]):
        time.sleep(1.2)
        began = time.monotonic()
        for _ in range(40):
            assert server.raw(HEALTHY, 10).status == 200
            assert server.ask("GET", "/v1/grades/x").status == 404
        assert time.monotonic() - began < 20
        assert server.grade(REFERENCE).json["reward"] == 1
        while connections(server.port) > ServiceLimits().strangers + 100:
            assert time.monotonic() - began < 30, "an address has more than its share of connections"
            assert server.raw(HEALTHY, 10).status == 200
            time.sleep(0.1)


def test_a_connection_with_a_token_is_not_closed_for_strangers(server: Server) -> None:
    line = f"GET /v1/grades/x HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.token}\r\n\r\n".encode()
    with server.connected() as connection:
        for _ in range(3):
            connection.sendall(line)
            text = b""
            while b"no such grade" not in text:
                text += connection.recv(1 << 16) or pytest.fail("it was closed")
            with holding(server, 2 * ServiceLimits().strangers, b""):
                time.sleep(1.5)
                assert server.raw(HEALTHY, 10).status == 200


def test_one_tokens_bodies_leave_room_for_anothers(server: Server) -> None:
    """Bodies of 4 MiB that never end, as many as there is room for in all."""
    size = 4 << 20
    head = f"POST /v1/grades HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKENS['greedy']}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {size}\r\n\r\n"
    large = json.dumps(answer(REFERENCE + "#" * (2 << 20))).encode()
    with holding(server, 16, head.encode() + b" " * (size - 1)) as held:
        for _ in range(4):
            assert server.ask("POST", "/v1/grades?wait=60", large).status == 200
        refused = [received(connection) for connection in held if _ended(connection)]
        assert {one.status for one in refused} == {429} and 8 <= len(refused) < 16
        # a connection that is closed with bytes unread may be reset before its reply is read whole
        assert {one.json["error"] for one in refused if one.body} == {"busy"}
    assert server.ask("POST", "/v1/grades?wait=60", large, TOKENS["greedy"]).status == 200, "it is given back"


def _ended(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_one_tokens_waiting_requests_leave_room_for_anothers(tmp_path: Path) -> None:
    """Of ten requests that may be under way, one token has half, and the next two of what is left."""
    file = TokenFile(tmp_path / "tokens.json")
    greedy, other = (file.add(name, (Scope.GRADE,)) for name in ("greedy", "other"))

    async def statuses() -> list[int]:
        finished = asyncio.Event()

        async def app(scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
            await finished.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        guard = RequestGuard(app, file, ServiceLimits(connections=10), ServiceMetrics(), open_here=False)

        async def status(token: str) -> int:
            sent: list[Any] = []

            async def receive() -> MutableMapping[str, Any]:
                return {"type": "http.request"}

            async def send(message: MutableMapping[str, Any]) -> None:
                sent.append(message)

            headers = [(b"authorization", f"Bearer {token}".encode())]
            scope = {"type": "http", "method": "GET", "path": "/v1/grades/x", "headers": headers, "client": ("here", 1)}
            await guard(scope, receive, send)
            return int(sent[0]["status"])

        under_way = [asyncio.ensure_future(status(token)) for token in [greedy] * 8 + [other] * 3]
        await asyncio.sleep(0.1)
        finished.set()
        await asyncio.gather(*under_way)
        return [one.result() for one in under_way] + [await status(greedy)]

    assert asyncio.run(statuses()) == [200] * 5 + [429] * 3 + [200] * 2 + [429, 200]


def test_nobody_takes_more_than_is_left_for_the_next() -> None:
    room = SharedRoom(60)
    assert all(room.take("a", 1) for _ in range(30)) and not room.take("a", 1)
    assert all(room.take("b", 1) for _ in range(15)) and not room.take("b", 1)
    assert room.take("c", 7) and not room.take("c", 1) and not room.take("a", 1)
    room.give_back("a", 30)
    assert room.take("b", 1) and room.take("a", 10) and room.take("c", 1)
