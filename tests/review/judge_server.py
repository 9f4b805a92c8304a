"""A server on loopback that speaks the chat protocol and behaves as a test tells it, and a workspace to review."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHALLENGE = """
id = "rows"
title = "Rows"
summary = "Sum the rows."
anchor = "values"
[contract]
functions = ["rows"]
[[dimensions]]
id = "correctness"
title = "Correctness"
weight = 1
[[dimensions]]
id = "writing"
title = "Writing"
weight = 1
[[criteria]]
id = "values"
dimension = "correctness"
severity = "critical"
title = "Every sum equals the oracle"
probes = ["values"]
[[criteria]]
id = "readability"
dimension = "writing"
severity = "major"
title = "The code reads well"
review = "Do the names help?"
[[criteria]]
id = "analysis"
dimension = "writing"
severity = "minor"
title = "The cost is stated"
review = "Is the cost stated in rows and columns?"
"""
SUBMISSION = """
[submission]
model = "{model}"
challenge = "rows"
entry = "answer.py"
provenance = "model-output"
"""
CODE = "def rows(x):\n    return x.sum(axis=1)\n"
QUESTIONS = ("readability", "analysis")


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


Command = Callable[..., Ran]


def make_workspace(root: Path) -> Path:
    """A workspace with one challenge that nobody has answered."""
    challenge = root / "challenges" / "rows"
    challenge.mkdir(parents=True)
    (challenge / "challenge.toml").write_text(CHALLENGE)
    (challenge / "PROMPT.md").write_text("Sum the rows of a matrix.\n")
    return root


def submit(root: Path, model: str, **files: str) -> Path:
    """An answer; further files by keyword, dots as double underscores."""
    folder = root / "submissions" / model / "rows"
    folder.mkdir(parents=True)
    (folder / "submission.toml").write_text(SUBMISSION.format(model=model))
    (folder / "answer.py").write_text(CODE)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


class Request:
    """One request as it arrived, and the ways to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, number: int) -> None:
        self.number = number
        self.headers = handler.headers
        self.body: dict[str, Any] = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self._handler = handler

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][1]["content"])

    def shown(self, which: int = 0) -> str:
        """All that is shown of one answer, found by the code that the rules name."""
        (nonce,) = re.findall("begin with the code ([0-9a-f]+)", self.system)
        answers = re.findall(rf"(?s){nonce} the (?:first |second )?answer begins\n(.*?){nonce} the", self.user)
        return str(answers[which])

    def send(self, data: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        self._handler.send_response(status)
        self._handler.send_header("content-type", kind)
        self._handler.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def drip(self, piece: bytes, until: threading.Event) -> None:
        """A reply that never ends."""
        self._handler.send_response(200)
        self._handler.end_headers()
        while not until.wait(0.05):
            self._handler.wfile.write(piece)
            self._handler.wfile.flush()

    def say(self, text: str, finish: str = "stop") -> None:
        """A chat completion with that text."""
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        self.send(json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode())

    def mark(self, mark: float = 80, **changes: Any) -> None:
        """A good reply to every question, `changes` made to that on readability."""
        marked = [{"question": id, "remark": f"For {mark:g}.", "quotes": [], "mark": mark} for id in QUESTIONS]
        self.say(json.dumps({"answers": [marked[0] | changes, marked[1]]}))

    def prefer(self, **better: str) -> None:
        """A good reply on a pair."""
        self.say(json.dumps({"answers": [{"question": q, "remark": "So.", "better": b} for q, b in better.items()]}))


class Server:
    """A running server.

    Attributes:
        url: to ask it at.
        requests: all that arrived.
        closing: is set when the test is over.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Request] = []
        self.closing = threading.Event()


Behaviour = Callable[[Request], None]


@contextmanager
def serving(behave: Behaviour) -> Iterator[Server]:
    """A server that does with every request what `behave` does."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = Request(self, len(server.requests) + 1)
            server.requests.append(request)
            try:
                behave(request)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *words: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server = Server(f"http://127.0.0.1:{listener.server_port}/v1")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        listener.shutdown()
        listener.server_close()
        thread.join()
