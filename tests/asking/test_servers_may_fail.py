"""However a server fails, it is asked again where that may help; else the attempt is left out with a message."""

import datetime
import email.utils
import socket
import struct
from collections.abc import Callable, Iterator

import pytest
from asked_models import RIGHT, Ask, Ran, attempts, folder, say

from harness.asking import patience
from harness.asking.patience import Interrupted, Patience
from harness.chat import ChatProblem, ChatReply, ChatServer
from harness.errors import ChatError
from harness.workspace import Workspace
from tests.review.judge_server import Behaviour, Request, Server, serving

KEY = "sk-loopback-0123456789abcdef"
BUSY = {"retry_after_ms": "1"}


def status(code: int, **headers: str) -> Behaviour:
    """A server that refuses, and repeats the key it was sent."""
    words = b'{"error": {"message": "no, not with %s"}}'
    return lambda request: request.send(words % request.headers["authorization"].encode(), code, **headers)


def hang_up(request: Request) -> None:
    """The connection is closed with no word."""
    request._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request._handler.connection.close()
    raise BrokenPipeError


def break_off(request: Request) -> None:
    """A reply ends half way."""
    request._handler.send_response(200)
    request._handler.send_header("content-length", "1000")
    request._handler.end_headers()
    request._handler.wfile.write(b'{"choices": [')
    request._handler.close_connection = True


def assert_left_out(workspace: Workspace, ran: Ran, *words: str) -> None:
    """Nothing is stored, the message is whole, and the key is nowhere."""
    assert ran.returncode == 3 and "Traceback" not in ran.stderr
    for word in words:
        assert word in ran.stderr
    assert not workspace.submissions_folder.exists()
    assert_no_key(workspace, ran)


def assert_no_key(workspace: Workspace, ran: Ran) -> None:
    assert KEY not in ran.stdout + ran.stderr
    written = [path for path in workspace.root.rglob("*") if path.is_file()]
    assert written and not [path for path in written if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "fail",
    [
        status(429, **BUSY), status(429, retry_after="0"), status(500), status(503, **BUSY), status(529), hang_up,
        break_off, lambda request: request.send(b"<html>busy</html>", kind="text/html"),
    ],
    ids=["429", "429 with seconds", "500", "503", "529", "hang up", "break off", "html once"],
)  # fmt: skip
def test_what_may_pass_is_tried_again(workspace: Workspace, ask: Ask, fail: Behaviour) -> None:
    with serving(lambda request: fail(request) if request.number == 1 else say(request)) as server:
        ran = ask(server.url)
    assert ran.returncode == 0, ran.stderr
    assert len(server.requests) == 2 and attempts(workspace)[1].turns[0].tries == 2


@pytest.mark.parametrize(
    ("behave", "asked", "words"),
    [
        (status(401), 1, "set HARNESS_API_KEY (or OPENAI_API_KEY)"),
        (status(404), 1, "often ends in /v1"),
        (status(400), 1, "no, not with Bearer ***"),
        (status(429, **BUSY), 5, "HTTP 429"),
        (status(429, retry_after="3600"), 1, "Retry-After: 3600"),
        (status(500), 5, "HTTP 500"),
        (hang_up, 3, "cannot be reached"),
        (break_off, 3, "broke off"),
        (lambda r: r.send(b"<html>Welcome</html>", kind="text/html"), 2, "no chat completion"),
        (lambda r: r.send(b'{"object": "list", "data": []}'), 2, "no chat completion"),
        (lambda r: r.send(b'{"choices": []}'), 2, "no chat completion"),
        (lambda r: r.send(b"\xff\xfe\0"), 2, "no chat completion"),
        (lambda r: r.send(b" " * (5 << 20)), 1, "over 4 MiB"),
    ],
    ids=["key", "place", "request", "busy", "busy for an hour", "broken", "hangs up", "breaks off", "html",
         "other JSON", "no choice", "no text", "5 MiB"],
)  # fmt: skip
def test_what_does_not_pass_is_left_out_and_told(
    workspace: Workspace, ask: Ask, monkeypatch: pytest.MonkeyPatch, behave: Behaviour, asked: int, words: str
) -> None:
    monkeypatch.setenv("HARNESS_API_KEY", KEY)
    with serving(behave) as server:
        ran = ask(server.url)
    assert len(server.requests) == asked
    assert_left_out(workspace, ran, words, "1 of 1 are missing")


@pytest.mark.parametrize("drips", [False, True])
def test_a_server_that_never_ends_is_given_up(workspace: Workspace, ask: Ask, drips: bool) -> None:
    held: list[Server] = []

    def behave(request: Request) -> None:
        if drips:
            request.drip(b" ", held[0].closing)
        else:
            held[0].closing.wait(20)

    with serving(behave) as server:
        held.append(server)
        ran = ask(server.url, "--timeout", "0.2")
    assert_left_out(workspace, ran, "did not reply within 0.2 s", "--timeout")
    assert len(server.requests) == 2


def test_one_that_keeps_failing_is_asked_no_more(workspace: Workspace, ask: Ask) -> None:
    with serving(lambda request: request.send(b"<html></html>")) as server:
        ran = ask(server.url, "-n", "50")
    assert_left_out(workspace, ran, "50 of 50 are missing")
    assert len(server.requests) <= 2 * 4, "three attempts, and one that was under way"


def test_nobody_there_is_told(workspace: Workspace, ask: Ask) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and never listens
        place = f"127.0.0.1:{free.getsockname()[1]}/v1"
        ran = ask(f"http://user:{KEY}@{place}?key={KEY}", "-n", "9")
    assert_left_out(workspace, ran, f"http://{place} cannot be reached", "9 of 9 are missing")


def test_a_server_that_repeats_the_key_does_not_get_it_stored(
    workspace: Workspace, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_API_KEY", KEY)

    def behave(request: Request) -> None:
        sent = request.headers["authorization"].removeprefix("Bearer ")
        say(request, f"You sent {sent}.\n\n{RIGHT.replace('total =', f'# {sent}{chr(10)}    total =')}")

    with serving(behave) as server:
        ran = ask(server.url)
    assert ran.returncode == 0 and server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "***" in (folder(workspace) / "attempt-1" / "answer.py").read_text()
    assert_no_key(workspace, ran)


def test_a_redirect_is_not_followed_and_its_place_is_named(
    workspace: Workspace, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the key nor the prompt goes to a place that a server names."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(say) as other:
        for code in (301, 302, 303, 307, 308):
            for place in (other.url, "file:///etc", "//127.0.0.1:9/v1", ""):
                location = f"{place}/chat/completions" if place else f"/{KEY}"
                with serving(lambda request: request.send(b"", code, location=location)) as server:  # noqa: B023
                    ran = ask(server.url)
                assert_left_out(workspace, ran, f"HTTP {code}", f"--server {place or '/***'}")
                assert len(server.requests) == 1
    assert not other.requests


def test_a_server_that_knows_the_limit_by_another_name_is_asked_by_that(workspace: Workspace, ask: Ask) -> None:
    def behave(request: Request) -> None:
        if "max_tokens" in request.body:
            request.send(b'{"error": {"message": "Use \'max_completion_tokens\' instead."}}', 400)
        else:
            say(request)

    with serving(behave) as server:
        assert ask(server.url, "-n", "2", "--max-tokens", "77").returncode == 0
    assert [request.body.get("max_completion_tokens") for request in server.requests] == [None, 77, 77]


class Waits:
    """Time that passes only where somebody waits."""

    def __init__(self, last: float = float("inf")) -> None:
        self.now = 0.0
        self.waited: list[float] = []
        self._last = last

    def __call__(self, seconds: float) -> bool:
        self.now += seconds
        if seconds:
            self.waited.append(seconds)
        return self.now >= self._last


def failing(*errors: ChatError) -> Callable[[], ChatReply]:
    left: Iterator[ChatError] = iter(errors)

    def request() -> ChatReply:
        for error in left:
            raise error
        return ChatReply("here")

    return request


def busy(wait: float | None, code: int = 429) -> ChatError:
    return ChatError(ChatProblem.STATUS, "busy", status=code, wait=wait)


def test_the_wait_a_server_asks_for_holds_for_everybody() -> None:
    waits = Waits()
    asked = Patience(waits, lambda: waits.now)
    assert asked.reply(failing(busy(30), busy(7)))[1] == 3
    assert waits.waited == [30, 7]
    begun = waits.now
    with pytest.raises(ChatError):
        asked.reply(failing(*[busy(5)] * 9))
    assert waits.now - begun == 4 * 5
    asked._quiet_until = waits.now + 11
    assert asked.reply(failing())[1] == 1 and waits.waited[-1] == 11, "what one thread was told, all keep"


def test_pauses_grow_where_a_server_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "FIRST_PAUSE", 1.0)
    waits = Waits()
    with pytest.raises(ChatError):
        Patience(waits, lambda: waits.now).reply(failing(*[busy(None, 500)] * 9))
    assert waits.waited == [1, 2, 4, 8]


@pytest.mark.parametrize("code", [429, 500])
def test_the_end_of_a_run_ends_every_wait(code: int) -> None:
    waits = Waits(last=10)
    with pytest.raises(Interrupted):
        Patience(waits, lambda: waits.now).reply(failing(*[busy(10, code)] * 9))


def test_a_wait_may_be_a_date() -> None:
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=60)
    busy_until = status(429, retry_after=email.utils.format_datetime(until, usegmt=True))
    with serving(busy_until) as server, pytest.raises(ChatError) as error:
        ChatServer(server.url, option="--server", keys=("NO_KEY",), timeout=5, environment={}).complete("m", [])
    assert error.value.wait is not None and 50 < error.value.wait <= 60


def test_a_date_is_read_by_the_clock_of_the_server_that_states_it() -> None:
    """Which may be an hour ahead of ours."""
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    until = email.utils.format_datetime(then + datetime.timedelta(seconds=60), usegmt=True)

    def ahead(request: Request) -> None:
        request._handler.date_time_string = lambda: email.utils.format_datetime(then, usegmt=True)
        status(429, retry_after=until)(request)

    with serving(ahead) as server, pytest.raises(ChatError) as error:
        ChatServer(server.url, option="--server", keys=("NO_KEY",), timeout=5, environment={}).complete("m", [])
    assert error.value.wait is not None and 50 < error.value.wait <= 60
