"""A connection that is cut, on the way there or back, costs a client nothing: it has the record, of one job.

Between a real client and a real server stands a proxy on the loopback address that closes connections.
"""

import asyncio
import socket
import sqlite3
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from servers import Server, serving

import harness
from tests.toy import CHALLENGE_ID, REFERENCE

RESET = struct.pack("ii", 1, 0)
"""Of SO_LINGER: what is closed with it is reset."""


class CuttingProxy:
    """Passes bytes on between a client and a server, and cuts connections.

    Args:
        port: of the server.
        cuts: for each connection in turn, where it is cut: so many bytes of the request, and of the reply, are let
            through; None for all. Later connections are left alone.
    """

    def __init__(self, port: int, cuts: Sequence[tuple[int | None, int | None]]) -> None:
        self._port, self._cuts = port, iter(cuts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cut = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                there, back = next(self._cuts, (None, None))
                for source, target, left in ((client, server, there), (server, client, back)):
                    threading.Thread(target=self._pass_on, args=(source, target, left), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, left: int | None) -> None:
        with suppress(OSError):
            while part := source.recv(1 << 16):
                if left is not None and len(part) >= left:
                    target.sendall(part[:left])
                    self.cut += 1
                    break
                target.sendall(part)
                left = left and left - len(part)
        for end in (source, target):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def cutting(server: Server, *cuts: tuple[int | None, int | None]) -> Iterator[CuttingProxy]:
    with closing(CuttingProxy(server.port, cuts)) as proxy:
        yield proxy
        assert proxy.cut == len(cuts)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


def jobs(server: Server) -> int:
    """How many were ever accepted."""
    with closing(sqlite3.connect(server.root / ".harness" / "service.sqlite")) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM jobs").fetchone()[0])


CUTS = {
    "before anything is sent": (0, None),
    "in the head of the request": (40, None),
    "in the body of the request": (400, None),
    "before the reply": (None, 0),
    "in the head of the reply": (None, 10),
    "in the body of the reply": (None, 500),
}


@pytest.mark.parametrize("where", CUTS)
def test_one_answer_is_one_job_wherever_it_is_cut(where: str, server: Server) -> None:
    before = jobs(server)
    with cutting(server, CUTS[where]) as proxy, harness.Client(proxy.url, "", patience=60) as client:
        record = client.grade_reply(f"```python\n{REFERENCE}# {where}\n```\n", CHALLENGE_ID, profile="reward")
    assert record.reward == 1 and jobs(server) == before + 1


def test_a_batch_that_is_cut_again_and_again_is_one_batch(server: Server) -> None:
    """When it is sent, and when its records are asked for; the asynchronous client as well."""
    before, replies = jobs(server), [f"```python\n{REFERENCE}# batch {number}\n```\n" for number in range(5)]
    cuts = ((400, None), (None, 0), (None, 100), (None, 300))

    async def graded(url: str) -> list[harness.Record]:
        async with harness.AsyncClient(url, "", patience=60) as client:
            return await client.grade_replies(replies, CHALLENGE_ID, profile="reward")

    with cutting(server, *cuts) as proxy:
        records = asyncio.run(graded(proxy.url))
    assert [record.reward for record in records] == [1] * 5 and jobs(server) == before + 5


def test_a_server_that_is_killed_while_a_client_waits_gives_the_record_later(tmp_path: Path) -> None:
    """The next one, at the same address."""
    with serving(tmp_path) as server:
        found: list[harness.Record] = []

        def ask() -> None:
            with harness.Client(server.url, "", patience=120) as client:
                slow = f"```python\nimport time\ntime.sleep(2)\n{REFERENCE}```\n"
                found.append(client.grade_reply(slow, CHALLENGE_ID, profile="reward"))

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        while not server.metric("harness_accepted_total"):
            pass
        server.process.kill()
        server.process.wait()
        with serving(tmp_path, "--port", str(server.port)) as again:
            asking.join(120)
            assert [record.reward for record in found] == [1] and jobs(again) == 1
