"""However a server fails, the message names it and the next command, no key is printed, and nothing is written."""

import json
import socket
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from judge_server import Command, Ran, Request, Server, serving, submit

import harness

KEY = "sk-loopback-0123456789abcdef"


def review(command: Command, url: str, *more: str) -> Ran:
    return command("review", "acme-7b/rows", "--judge", url, "--model", "m", "--repeats", "1", *more)


def assert_told(ran: Ran, folder: Path, *words: str) -> None:
    assert ran.code == 3, ran.err
    for word in words:
        assert word in ran.err
    assert "Traceback" not in ran.err
    assert KEY not in ran.out + ran.err
    assert not (folder / "reviews").exists()


def refuse(status: int, **headers: str) -> Callable[[Request], None]:
    """A server that refuses, and repeats the key it was sent."""

    def behave(request: Request) -> None:
        words = f"no, not with {request.headers['authorization']}"
        request.send(json.dumps({"error": {"message": words}}).encode(), status, **headers)

    return behave


@pytest.mark.parametrize(
    ("status", "asked", "words"),
    [
        (401, 1, "set HARNESS_JUDGE_KEY"),
        (403, 1, "set HARNESS_JUDGE_KEY"),
        (404, 1, "often ends in /v1"),
        (418, 1, "the server's own log"),
        (400, 2, "no, not with"),
        (422, 2, "no, not with"),
    ],
)
def test_a_refusal_is_told_with_its_status(
    root: Path, command: Command, monkeypatch: pytest.MonkeyPatch, status: int, asked: int, words: str
) -> None:
    folder = submit(root, "acme-7b")
    monkeypatch.setenv("HARNESS_JUDGE_KEY", KEY)
    with serving(refuse(status)) as server:
        ran = review(command, server.url)
    assert len(server.requests) == asked
    assert_told(ran, folder, server.url, f"HTTP {status}", "Bearer ***", words)


def test_a_traceback_holds_no_key(root: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    submit(root, "acme-7b")
    monkeypatch.setenv("HARNESS_JUDGE_KEY", KEY)
    with serving(refuse(401)) as server:
        ran = review(command, server.url, "--debug")
    assert "Traceback" in ran.err
    assert KEY not in ran.out + ran.err


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_tried_again(root: Path, command: Command, status: int) -> None:
    submit(root, "acme-7b")
    fail = refuse(status, retry_after_ms="10")
    with serving(lambda request: fail(request) if request.number < 3 else request.mark()) as server:
        assert review(command, server.url).code == 0
    assert len(server.requests) == 3


def test_a_server_that_stays_busy_is_told_with_its_wish(
    root: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = submit(root, "acme-7b")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(refuse(429, retry_after_ms="10", retry_after="7")) as server:
        ran = review(command, server.url)
    assert len(server.requests) == 3
    assert_told(ran, folder, server.url, "HTTP 429 (Retry-After: 7)", "wait, then run the same command again")


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (lambda r: r.send(b"<html><body>Welcome</body></html>", kind="text/html"), "<html><body>Welcome"),
        (lambda r: r.send(b'{"choices": [{"mess'), "no chat completion"),
        (lambda r: r.send(b""), "no chat completion"),
        (lambda r: r.send(b"\xff\xfe"), "no chat completion"),
        (lambda r: r.send(b'{"choices": []}'), "no chat completion"),
        (lambda r: r.send(b'{"choices": [{"message": {"content": null, "refusal": "I will not"}}]}'), "I will not"),
        (lambda r: r.say(""), "it is empty"),
        (lambda r: r.say('{"answers": [', finish="length"), "cut off at the server's limit"),
        (lambda r: r.send(b" " * (10 << 20)), "it is over 4 MiB"),
    ],
    ids=["html", "truncated", "nothing", "no text", "no choice", "refusal", "empty", "cut off", "10 MB"],
)
def test_a_reply_that_is_none_is_told(
    root: Path, command: Command, behave: Callable[[Request], None], words: str
) -> None:
    folder = submit(root, "acme-7b")
    with serving(behave) as server:
        ran = review(command, server.url)
    assert_told(ran, folder, "none of 1 replies could be used", words)
    assert len(server.requests) == 3


def test_a_server_that_is_silent_is_given_up(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b")
    held: list[Server] = []
    with serving(lambda _: void(held[0].closing.wait(20))) as server:
        held.append(server)
        ran = review(command, server.url, "--timeout", "0.2")
    assert_told(ran, folder, server.url, "did not reply within 0.2 s", "--timeout")


def test_a_server_that_never_ends_is_given_up(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b")
    held: list[Server] = []
    with serving(lambda request: request.drip(b" ", held[0].closing)) as server:
        held.append(server)
        ran = review(command, server.url, "--timeout", "0.4")
    assert_told(ran, folder, server.url, "did not reply within 0.4 s")


def test_nobody_there_is_told(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and never listens
        place = f"127.0.0.1:{free.getsockname()[1]}/v1"
        ran = review(command, f"http://user:{KEY}@{place}?key={KEY}")
    assert_told(ran, folder, f"http://{place} cannot be reached")


def test_what_was_replied_before_a_failure_is_kept(root: Path, command: Command) -> None:
    folder = submit(root, "acme-7b")
    fail = refuse(401)
    with serving(lambda request: request.mark() if request.number <= 2 else fail(request)) as server:
        ran = command("review", "acme-7b/rows", "--judge", server.url, "--model", "m", "--repeats", "5")
    assert ran.code == 0
    assert "HTTP 401" in ran.err
    assert "2 of 5 replies could be used" in ran.err
    stored = tomllib.loads((folder / "reviews" / "m.toml").read_text())
    assert [80, 80] in [mark["repeats"] for mark in stored["marks"]]


def test_a_server_that_knows_no_form_is_asked_in_words(root: Path, command: Command) -> None:
    submit(root, "acme-7b")
    plain: list[int] = []

    def behave(request: Request) -> None:
        if "response_format" in request.body:
            request.send(b'{"error": {"message": "response_format is not supported"}}', 400)
        else:
            plain.append(request.number)
            request.mark()

    with serving(behave) as server:
        assert command("review", "acme-7b/rows", "--judge", server.url, "--model", "m").code == 0
    assert plain == [2, 3, 4], "what a server refused once is not sent again"


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({}, "Bearer no-key"),
        ({"OPENAI_API_KEY": KEY}, f"Bearer {KEY}"),
        ({"HARNESS_JUDGE_KEY": f" {KEY}\n", "OPENAI_API_KEY": "sk-other-0123456789"}, f"Bearer {KEY}"),
    ],
)
def test_the_key_is_read_from_the_environment(
    root: Path, command: Command, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], sent: str
) -> None:
    folder = submit(root, "acme-7b")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with serving(lambda request: request.mark(remark=f"You sent {KEY}.")) as server:
        ran = review(command, server.url)
    assert ran.code == 0
    assert [request.headers["authorization"] for request in server.requests] == [sent]
    written = (folder / "reviews" / "m.toml").read_text()
    assert ("You sent ***." in written) == bool(variables), "a server that repeats the key does not get it stored"


def test_a_redirect_is_not_followed_and_its_place_is_named(
    root: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = submit(root, "acme-7b")
    monkeypatch.setenv("HARNESS_JUDGE_KEY", KEY)
    with serving(Request.mark) as other:
        place = f"{other.url}/chat/completions"
        with serving(lambda request: request.send(b"", 307, location=place)) as server:
            assert_told(review(command, server.url), folder, "HTTP 307", f"--judge {other.url}")
    assert len(server.requests) == 1 and not other.requests


def test_a_key_of_several_words_is_refused(root: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = submit(root, "acme-7b")
    monkeypatch.setenv("HARNESS_JUDGE_KEY", f"key: {KEY}")
    assert_told(review(command, "http://127.0.0.1:9/v1"), folder, "HARNESS_JUDGE_KEY")


def test_without_the_http_library_the_message_says_how_to_get_it(
    root: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = submit(root, "acme-7b")
    monkeypatch.delitem(sys.modules, "harness.bounded_http", raising=False)
    monkeypatch.delattr(harness, "bounded_http", raising=False)
    monkeypatch.setitem(sys.modules, "httpcore2", None)
    assert_told(review(command, "http://127.0.0.1:9/v1"), folder, 'pip install -e ".[judge]"')


def void(_: object) -> None:
    """Drop a value."""
