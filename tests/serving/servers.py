"""A real server in a process of its own on the loopback device, with the toy challenge, and ways to talk to it."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

WRONG = REFERENCE.replace("total * scale", "total")
START_SECONDS = 60
SMALL = ("--port", "0", "-j", "1", "--drain", "20")


@dataclass(frozen=True)
class Answered:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """A running server."""

    process: "subprocess.Popen[str]"
    root: Path
    port: int
    log: Path
    token: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it logged."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def ask(self, method: str, path: str, body: Any = None, token: str | None = None, **headers: str) -> Answered:
        """One request; a body that is no bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"host": "localhost", "content-length": str(len(data)), "connection": "close"}
        if data:
            given["content-type"] = "application/json"
        owned = self.token if token is None else token
        if owned:
            given["authorization"] = f"Bearer {owned}"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        return self.raw(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + data)

    def raw(self, sent: bytes, timeout: float = 60) -> Answered:
        """Send bytes as they are."""
        with self.connected(timeout) as connection:
            with contextlib.suppress(ConnectionError):  # it may have answered before the end
                connection.sendall(sent)
            return received(connection)

    def connected(self, timeout: float = 60) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def grade(self, source: str, wait: float = 60, **more: Any) -> Answered:
        """Send one answer."""
        return self.ask("POST", f"/v1/grades?wait={wait}", answer(source, **more))

    def metric(self, name: str, token: str | None = None) -> float:
        """A figure of /metrics."""
        text = self.ask("GET", "/metrics", token=token).body.decode()
        return float(next((line.split()[-1] for line in text.splitlines() if line.startswith(f"{name} ")), 0))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


def answer(source: str, **more: Any) -> dict[str, Any]:
    """A request for a grade of one file."""
    return {"challenge": CHALLENGE_ID, "profile": "reward", "files": {"answer.py": source}, **more}


def received(connection: socket.socket) -> Answered:
    """The response on a connection that the server closes; of status 0 where it closes without one."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    found = re.match(r"HTTP/1.1 (\d+)", lines[0])
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    return Answered(int(found[1]) if found else 0, headers, body)


@contextlib.contextmanager
def serving(root: Path, *options: str, token: str = "", prefix: tuple[str, ...] = ()) -> Iterator[Server]:
    """A server, until the end of the block.

    Args:
        root: of its workspace; made where it is none.
        options: of `harness serve`.
        token: to use it with.
        prefix: of the command line.
    """
    if not (root / "challenges").exists():
        make_workspace(root)
    door = () if (root / ".harness" / "service_tokens.json").exists() else ("--no-auth",)
    with tempfile.TemporaryDirectory() as place:
        log = Path(place, "log")
        with log.open("w") as file:
            process = subprocess.Popen(
                [*prefix, sys.executable, "-P", "-m", "harness", "serve", *SMALL, *door, *options],
                stdout=subprocess.DEVNULL, stderr=file, text=True, cwd=root,
                env={**os.environ, "HARNESS_WORKSPACE": str(root)},
            )  # fmt: skip
        try:
            yield Server(process, root, _port(process, log), log, token)
        finally:
            process.kill()
            process.wait()


def _port(process: "subprocess.Popen[str]", log: Path) -> int:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"serving on http://\S+:(\d+)\n", log.read_text()):
            return int(found[1])
        time.sleep(0.02)
    raise AssertionError(f"no server: exit code {process.poll()}\n{log.read_text()}")
