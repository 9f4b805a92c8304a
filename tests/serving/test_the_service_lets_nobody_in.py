"""Whatever is sent to the service, it answers in bounded time and memory, tells nothing, and goes on serving."""

import gzip
import json
import os
import socket
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import Server, answer, received, serving

from harness.serving.tokens import Scope, TokenFile
from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

BODY = 256 << 10
TOKENS: dict[str, str] = {}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with tokens and small limits."""
    root = make_workspace(tmp_path_factory.mktemp("attacked")).root
    file = TokenFile(root / ".harness" / "service_tokens.json")
    for name, scope in (("trainer", Scope.GRADE), ("other", Scope.GRADE), ("board", Scope.READ)):
        TOKENS[name] = file.add(name, (scope,))
    with serving(root, "--max-body", "0.25", "--queue", "4", "--rate", "1000", token=TOKENS["trainer"]) as server:
        yield server
        assert server.process.poll() is None, "something ended the server"
        assert server.grade(f"{REFERENCE}# at the end").json["reward"] == 1


def resident(server: Server) -> int:
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


BAD_BODIES = {
    "nothing": b"",
    "no JSON": b"hello",
    "half of it": b'{"challenge": "scaled_sum", "files": {"a.py": "x',
    "another kind": b"[]",
    "null": b"null",
    "deep arrays": b"[" * 100_000,
    "deep objects": b'{"a":' * 40_000 + b"1" + b"}" * 40_000,
    "deep in a field": b'{"challenge": "scaled_sum", "files": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_002,
    "an endless number": b'{"challenge": "scaled_sum", "reply": "x", "seconds": ' + b"9" * 100_000 + b"}",
    "infinity": b'{"challenge": "scaled_sum", "reply": "x", "seconds": Infinity}',
    "not a number": b'{"challenge": "scaled_sum", "reply": "x", "seconds": NaN}',
    "half a character": b'{"challenge": "scaled_sum", "reply": "\\ud800"}',
    "no UTF-8": b'{"challenge": "scaled_sum", "reply": "\xff"}',
    "UTF-16": '{"challenge": "scaled_sum", "reply": "x"}'.encode("utf-16"),
    "an unknown field": json.dumps(answer(REFERENCE, seed=1)).encode(),
    "a wrong type": json.dumps({"challenge": CHALLENGE_ID, "files": ["answer.py"]}).encode(),
    "a number as text": json.dumps(answer(REFERENCE, seconds="5")).encode(),
    "truth as a number": json.dumps(answer(REFERENCE, seconds=True)).encode(),
    "a negative time": json.dumps(answer(REFERENCE, seconds=-1)).encode(),
    "no profile": json.dumps(answer(REFERENCE) | {"profile": "quick"}).encode(),
    "no criterion": json.dumps(answer(REFERENCE, criteria=["everything"])).encode(),
    "two answers": json.dumps(answer(REFERENCE, reply="x")).encode(),
    "no answer": json.dumps({"challenge": CHALLENGE_ID}).encode(),
    "no files": json.dumps({"challenge": CHALLENGE_ID, "files": {}}).encode(),
    "many files": json.dumps({"challenge": CHALLENGE_ID, "files": {f"{n}.py": "" for n in range(101)}}).encode(),
    "a file that is a folder": json.dumps(
        {"challenge": CHALLENGE_ID, "files": {"a": "", "a.py": "", "a/b.py": ""}}
    ).encode(),
    "a path upward": json.dumps({"challenge": CHALLENGE_ID, "files": {"../answer.py": ""}}).encode(),
    "an absolute path": json.dumps({"challenge": CHALLENGE_ID, "files": {"/etc/cron.d/x": ""}}).encode(),
    "a path as challenge": json.dumps({"challenge": "../scaled_sum", "reply": "x"}).encode(),
    "a path as model": json.dumps(answer(REFERENCE, model="../../x")).encode(),
    "an entry elsewhere": json.dumps(answer(REFERENCE, entry="../x.py")).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_BODIES)
def test_what_is_no_request_is_refused_and_named(server: Server, name: str) -> None:
    given = server.ask("POST", "/v1/grades", BAD_BODIES[name], content_type="application/json")
    assert given.status == 422, given
    assert set(given.json) == {"error", "message"} and len(given.body) < 600
    assert str(server.root) not in given.body.decode()


def test_an_empty_batch_and_one_that_is_too_long_are_refused(server: Server) -> None:
    assert server.ask("POST", "/v1/batches", {"answers": []}).status == 422
    assert server.ask("POST", "/v1/batches", {"answers": [answer("x")] * 257}).status == 413
    refused = server.ask("POST", "/v1/batches", {"answers": [answer("x"), answer("x", criteria=["none"])]})
    assert refused.status == 422 and "answers.1" in refused.json["message"]


def test_a_bomb_is_not_unpacked(server: Server) -> None:
    before = resident(server)
    bomb = gzip.compress(b" " * (64 << 20))
    for encoding in ("gzip", "deflate", "br", "zstd", "gzip, gzip"):
        assert server.ask("POST", "/v1/grades", bomb, Content_Encoding=encoding).status == 415
    assert server.ask("POST", "/v1/grades", bomb).status == 422
    assert resident(server) - before < 32 << 20


def test_a_body_is_bounded_whether_or_not_its_length_is_stated(server: Server) -> None:
    head = f"POST /v1/grades HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.token}\r\n"
    head += "content-type: application/json\r\n"
    assert server.raw(f"{head}content-length: {BODY + 1}\r\n\r\n".encode()).status == 413
    assert server.raw(f"{head}content-length: 99999999999999999999\r\n\r\n".encode()).status == 413
    before = resident(server)
    with server.connected() as connection:
        connection.sendall(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        try:
            for _ in range(500):
                connection.sendall(chunk)
            pytest.fail("32 MB were taken")
        except ConnectionError:
            pass
    assert resident(server) - before < 32 << 20
    assert server.ask("GET", "/v1/grades/x", b"body").status == 413


HEADERS = {
    "two lengths": "content-length: 2\r\ncontent-length: 20\r\n",
    "two equal lengths in one": "content-length: 2, 3\r\n",
    "a length and chunks": "content-length: 2\r\ntransfer-encoding: chunked\r\n",
    "a negative length": "content-length: -1\r\n",
    "a length in words": "content-length: two\r\n",
    "a length with a sign": "content-length: +2\r\n",
    "another coding": "transfer-encoding: gzip, chunked\r\n",
    "an obscured coding": "transfer-encoding:\x0bchunked\r\n",
    "a space before the colon": "content-length : 2\r\n",
    "a folded line": "x: a\r\n b\r\ncontent-length: 2\r\n 0\r\n",
    "a null": "x: a\0b\r\n",
    "a huge header": f"x: {'a' * 70_000}\r\n",
    "many headers": "".join(f"x{n}: y\r\n" for n in range(5000)),
    "two tokens": "authorization: Bearer x\r\n",
    "two hosts": "host: elsewhere\r\n",
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_mean_two_things_are_refused(server: Server, name: str) -> None:
    head = f"POST /v1/grades HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.token}\r\n"
    head += f"content-type: application/json\r\nconnection: close\r\n{HEADERS[name]}\r\n"
    given = server.raw(head.encode("latin-1") + b"{}", 10)
    assert given.status in (400, 413, 431, 501), given


def test_a_second_request_hidden_behind_the_first_is_a_request_of_its_own(server: Server) -> None:
    """It is let in by its own token or not at all."""
    hidden = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    with server.connected(10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" + hidden)
        text = b""
        while part := connection.recv(65536):
            text += part
    assert text.count(b"HTTP/1.1 ") == 2 and b"401" in text and b"harness_grades" not in text


def test_paths_lead_to_routes_only(server: Server) -> None:
    for path in (
        "/v1/grades/../../etc/passwd",
        "/v1/grades/%2e%2e%2f%2e%2e",
        "//healthz/..",
        "/v1/grades/" + "x" * 5000,
    ):
        given = server.ask("GET", path)
        assert given.status in (400, 404) and b"root:" not in given.body
    for path in ("/docs", "/redoc", "/static/x"):
        assert server.ask("GET", path).status == 404
    for method in ("PUT", "DELETE", "PATCH", "TRACE"):
        assert server.ask(method, "/v1/grades").status in (403, 405)
    for wait in ("x", "-1", "nan", "inf", "1e99"):
        assert server.ask("GET", f"/v1/grades/x?wait={wait}").status in (404, 422)


def test_slow_clients_are_let_go_and_keep_nobody_waiting(tmp_path: Path) -> None:
    """Headers and bodies that come a byte at a time, and connections that say nothing."""
    root = make_workspace(tmp_path).root
    data = json.dumps(answer(REFERENCE)).encode()
    head = b"POST /v1/grades HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    body = head + f"content-length: {len(data)}\r\n\r\n".encode() + data
    with serving(root) as server:
        slow: list[socket.socket] = [server.connected() for _ in range(60)]
        begun = time.monotonic()
        for number, connection in enumerate(slow):
            if number % 3:
                connection.sendall(body[: 20 if number % 3 == 1 else len(body) - 40])
        while time.monotonic() - begun < 15:
            for number, connection in enumerate(slow):
                if number % 3:
                    connection.sendall(b" " if number % 3 == 2 else b"a")
            time.sleep(0.5)
            assert server.ask("GET", "/healthz").status == 200
        assert server.grade(REFERENCE).json["reward"] == 1
        for number, connection in enumerate(slow):
            connection.settimeout(15)
            assert received(connection).status in ((408,) if number % 3 != 2 else (0, 408))
            connection.close()
        assert time.monotonic() - begun < 40
        assert server.metric("harness_accepted_total") == 1


def test_only_its_own_token_reads_a_grade(server: Server) -> None:
    id = server.grade(f"{REFERENCE}# owned").json["id"]
    statuses = {name: server.ask("GET", f"/v1/grades/{id}", token=token).status for name, token in TOKENS.items()}
    assert statuses == {"trainer": 200, "other": 404, "board": 200}
    assert server.ask("GET", f"/v1/grades/{id}", token="none").status == 401
    missing = server.ask("GET", f"/v1/grades/{'0' * 32}", token=TOKENS["other"])
    assert missing.body == server.ask("GET", f"/v1/grades/{id}", token=TOKENS["other"]).body


@pytest.mark.parametrize("end", ["the last token is taken back", "the file is removed", "the file is emptied"])
def test_a_server_that_loses_its_tokens_lets_nobody_in(tmp_path: Path, end: str) -> None:
    file = TokenFile(make_workspace(tmp_path).root / ".harness" / "service_tokens.json")
    with serving(tmp_path, token=file.add("trainer", (Scope.GRADE,))) as server:
        id = server.grade(REFERENCE).json["id"]
        if end == "the last token is taken back":
            file.remove("trainer")
        elif end == "the file is removed":
            file.path.unlink()
        else:
            file.path.write_text("")
        for token in (server.token, "", "hk_" + "x" * 43):
            expected = (401, 429, 503) if end == "the file is emptied" else (401, 429)
            assert server.ask("GET", f"/v1/grades/{id}", token=token).status in expected
            assert server.ask("POST", "/v1/grades", answer(REFERENCE), token=token).status in expected
        assert server.ask("GET", "/healthz").status == 200


def test_a_new_token_of_an_old_name_reads_nothing_of_the_old_ones(tmp_path: Path) -> None:
    """Nor is what is sent under a key of the old one's taken for the old one's."""
    file = TokenFile(make_workspace(tmp_path).root / ".harness" / "service_tokens.json")
    first = file.add("trainer", (Scope.GRADE,))
    with serving(tmp_path, token=first) as server:
        old = server.ask("POST", "/v1/grades?wait=60", answer(REFERENCE), Idempotency_Key="0123456789").json["id"]
        assert server.ask("GET", f"/v1/grades/{old}").status == 200
        file.remove("trainer")
        second = file.add("trainer", (Scope.GRADE,))
        assert server.ask("GET", f"/v1/grades/{old}", token=first).status == 401
        assert server.ask("GET", f"/v1/grades/{old}", token=second).status == 404
        new = server.ask("POST", "/v1/grades?wait=60", answer(REFERENCE), second, Idempotency_Key="0123456789")
        assert new.status == 200 and new.json["id"] != old
        assert server.ask("GET", f"/v1/grades/{old}", token=file.add("board", (Scope.READ,))).status == 200


def test_a_key_used_for_another_request_is_a_conflict(server: Server) -> None:
    one, two, three = (answer(f"{REFERENCE}# conflict {n}") for n in range(3))

    def sent(path: str, body: object, key: str) -> tuple[int, str]:
        given = server.ask("POST", f"{path}?wait=60", body, Idempotency_Key=key)
        return given.status, str(given.json.get("id"))

    status, batch = sent("/v1/batches", {"answers": [one, two]}, "batch-key")
    assert status == 200 and sent("/v1/batches", {"answers": [one, two]}, "batch-key") == (200, batch)
    for answers in ([one], [two, one], [one, two, three], [one, one], [one, answer("other")]):
        assert sent("/v1/batches", {"answers": answers}, "batch-key")[0] == 409
    assert sent("/v1/grades", one, "batch-key")[0] == 409
    assert len(server.ask("GET", f"/v1/batches/{batch}").json["grades"]) == 2
    assert sent("/v1/grades", one, "single-key")[0] == 200
    for other in (two, one | {"model": "other"}, one | {"profile": "full"}, one | {"seconds": 50.0}):
        assert sent("/v1/grades", other, "single-key")[0] == 409
    assert sent("/v1/batches", {"answers": [one]}, "single-key")[0] == 409


def test_nothing_may_follow_a_token_that_is_sent(server: Server) -> None:
    for sent in (f"{server.token}x", f"{server.token} x", f"{server.token},", f"{server.token}\t{server.token}"):
        assert server.ask("GET", "/v1/grades/x", token=sent).status in (401, 429)
    assert server.ask("GET", "/v1/grades/x").status == 404


def test_a_token_allows_its_scope_and_no_more(server: Server) -> None:
    assert server.ask("POST", "/v1/grades", answer(REFERENCE), token=TOKENS["board"]).status == 403
    assert server.ask("GET", "/metrics").status == 403
    assert server.ask("GET", "/metrics", token=TOKENS["board"]).status == 200


def test_one_clients_keys_and_answers_are_not_anothers(server: Server) -> None:
    """Equal content shares its grade; the jobs stay apart, and a key of another's means nothing."""
    mine, theirs = (
        server.ask("POST", "/v1/grades?wait=60", answer(f"{REFERENCE}# k"), token, Idempotency_Key="shared-key")
        for token in (TOKENS["trainer"], TOKENS["other"])
    )
    assert mine.json["id"] != theirs.json["id"]
    assert server.ask("GET", f"/v1/grades/{mine.json['id']}", token=TOKENS["other"]).status == 404
    for key in ("short", "x" * 300, "tab\there"):
        assert server.ask("POST", "/v1/grades", answer("x"), Idempotency_Key=key).status in (400, 422)


def test_the_time_of_a_look_up_tells_nothing_of_a_token(tmp_path: Path) -> None:
    """The first token, the last, one that is wrong at its end and one that is wrong from the start, interleaved.

    A look-up that ended at the first match would take a fiftieth of the time for the first token.
    """
    file = TokenFile(tmp_path / "tokens.json")
    tokens = [file.add(f"t{number}", (Scope.READ,)) for number in range(50)]
    guesses = [tokens[0], tokens[-1], tokens[0][:-1] + "!", "!" * len(tokens[0])]
    took: list[list[float]] = [[] for _ in guesses]
    for _ in range(300):
        for times, guess in zip(took, guesses, strict=True):
            begun = time.process_time_ns()
            file.owner(guess)
            times.append(time.process_time_ns() - begun)
    medians = [statistics.median(times) for times in took]
    assert max(medians) < 1.5 * min(medians)


def test_an_answer_cannot_reach_the_service(server: Server) -> None:
    """From inside the sandbox there is no loopback device with anybody on it, or no socket at all."""
    attack = f"""
import socket
try:
    with socket.create_connection(("127.0.0.1", {server.port}), 2) as c:
        c.sendall(b"GET /healthz?from=answer HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n")
        REACHED = c.recv(100)
except OSError:
    REACHED = b""
{REFERENCE.replace("return total * scale", "return total * scale if REACHED else total * 0")}
"""
    outside: dict[str, bytes] = {}
    exec(attack, outside)
    assert outside["REACHED"].startswith(b"HTTP/1.1 200"), "the attack would reach it from out here"
    before = server.metric('harness_responses_total{status="200"}', TOKENS["board"])
    given = server.grade(attack).json
    after = server.metric('harness_responses_total{status="200"}', TOKENS["board"])
    assert given["reward"] == 0 and given["status"] == "graded"
    assert any("socket" in signal["detail"] for signal in given["record"]["signals"])
    assert after - before == 2  # the request itself and the first look
    assert token_free(given["record"])


def token_free(record: object) -> bool:
    return not any(token in json.dumps(record) for token in TOKENS.values())


def test_who_sends_too_much_is_told_when_to_come_again(server: Server) -> None:
    slow = "import time\ntime.sleep(0.1)\n"
    given = [server.grade(f"{slow}{REFERENCE}# {n}", wait=0) for n in range(12)]
    refused = [one for one in given if one.status == 429]
    assert len(refused) >= 3 and {one.json["error"] for one in refused} == {"queue_full"}
    assert all(1 <= int(one.headers["retry-after"]) <= 60 for one in refused)
    for one in given:
        if one.status == 202:
            assert server.ask("GET", f"/v1/grades/{one.json['id']}?wait=60", token=TOKENS["board"]).status == 200


def test_a_rate_is_held_and_guesses_at_tokens_are_slowed(tmp_path: Path) -> None:
    root = make_workspace(tmp_path).root
    token = TokenFile(root / ".harness" / "service_tokens.json").add("trainer", (Scope.GRADE,))
    with serving(root, "--rate", "5", token=token) as server:
        statuses = [server.ask("GET", f"/v1/grades/{n}").status for n in range(30)]
        assert set(statuses) == {404, 429} and statuses[0] == 404
        limited = server.ask("GET", "/v1/grades/x")
        assert limited.status == 429 and limited.headers["retry-after"] == "1"
        guesses = [server.ask("GET", "/v1/grades/x", token=f"hk_{n}") for n in range(40)]
        assert {one.status for one in guesses} == {401, 429} and guesses[-1].status == 429
        assert guesses[0].headers["www-authenticate"] == "bearer"
        time.sleep(1)
        assert server.ask("GET", "/v1/grades/x").status == 404  # the right token is not kept out by the guesses


def test_a_web_page_cannot_use_a_server_without_tokens(tmp_path: Path) -> None:
    """Not under another name for this machine, and not by a form."""
    with serving(make_workspace(tmp_path).root) as server:
        assert server.ask("GET", "/metrics", host="evil.example:80").status == 403
        assert server.ask("GET", "/metrics", host="localhost.evil.example").status == 403
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            assert server.ask("POST", "/v1/grades", answer(REFERENCE), content_type=kind).status == 415
        preflight = server.ask("OPTIONS", "/v1/grades", Origin="http://evil.example")
        assert "access-control-allow-origin" not in preflight.headers
        token = TokenFile(server.root / ".harness" / "service_tokens.json").add("late", (Scope.READ,))
        assert server.ask("GET", "/metrics").status == 401  # the first token closes the door at once
        assert server.ask("GET", "/metrics", token=token).status == 200
        (server.root / ".harness" / "service_tokens.json").unlink()
        assert server.ask("GET", "/metrics").status == 401  # and for good
