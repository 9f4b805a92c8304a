"""What was accepted is graded, once, whatever becomes of the server, its graders, its client or its disk."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from servers import Server, answer, serving

from harness.serving.tokens import Scope, TokenFile
from tests.commands import called, command, environment
from tests.toy import REFERENCE, make_workspace

SLOW = "import time\ntime.sleep(1)\n"


def graders(server: Server) -> list[int]:
    """Process ids of the server's graders."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == server.process.pid and b"slot_process" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def rows(root: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(root / ".harness" / "service.sqlite")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_a_kill_with_jobs_accepted_loses_none_and_doubles_none(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        first = [server.grade(f"{SLOW}{REFERENCE}# {n}", wait=0).json["id"] for n in range(3)]
        batch = server.ask("POST", "/v1/batches", {"answers": [answer(f"{REFERENCE}# {n}") for n in range(3)]}).json
        time.sleep(0.5)
        orphans = graders(server)
        server.process.kill()
        server.process.wait()
        deadline = time.monotonic() + 20
        while any(Path("/proc", str(pid)).exists() for pid in orphans):
            assert time.monotonic() < deadline, "a grader outlives its server"
            time.sleep(0.05)
    with serving(tmp_path) as server:
        assert "accepted before" in server.log.read_text()
        for id in first:
            assert server.ask("GET", f"/v1/grades/{id}?wait=60").json["reward"] == 1
        assert [g["reward"] for g in server.ask("GET", f"/v1/batches/{batch['id']}?wait=60").json["grades"]] == [1] * 3
        assert server.stop() == 0
    assert rows(tmp_path, "SELECT COUNT(*), COUNT(DISTINCT content), MIN(state) FROM works") == [(6, 6, 2)]


def test_a_server_told_to_end_finishes_what_is_graded_and_answers_meanwhile(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        running = server.grade(f"{SLOW}{REFERENCE}", wait=0).json["id"]
        waiting = server.grade(f"{REFERENCE}# waits", wait=0).json["id"]
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        refused = server.grade(f"{REFERENCE}# too late")
        assert refused.status == 503 and int(refused.headers["retry-after"]) > 0
        assert server.ask("GET", "/readyz").json["accepting"] is False
        assert server.ask("GET", f"/v1/grades/{waiting}").status == 202
        assert server.process.wait(30) == 0
    found = dict(rows(tmp_path, "SELECT jobs.id, state FROM jobs JOIN works ON number = work"))
    assert found == {running: 2, waiting: 0}


def test_a_grade_that_outlasts_the_drain_waits_for_the_next_start(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain", "0.2") as server:
        server.grade(f"import time\ntime.sleep(5)\n{REFERENCE}", wait=0)
        time.sleep(1)
        assert server.stop() == 0
    assert rows(tmp_path, "SELECT state, deaths FROM works") == [(0, 0)]


def test_a_lost_grader_is_replaced_and_one_answer_that_loses_three_is_a_judge_error(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        id = server.grade(f"import time\ntime.sleep(4)\n{REFERENCE}", wait=0).json["id"]
        for deaths in range(3):
            deadline = time.monotonic() + 60
            while not rows(tmp_path, f"SELECT 1 FROM works WHERE state = 1 AND deaths = {deaths}"):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            time.sleep(0.3)
            (pid,) = graders(server)
            os.kill(pid, signal.SIGKILL)
        given = server.ask("GET", f"/v1/grades/{id}?wait=60").json
        assert given["status"] == "judge_error" and given["reward"] is None
        assert "ended 3 times" in given["record"]["error"]
        assert server.grade(REFERENCE).json["reward"] == 1


def test_a_client_that_vanishes_leaves_an_answer_that_is_graded(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        data = json.dumps(answer(f"{SLOW}{REFERENCE}")).encode()
        head = "POST /v1/grades?wait=60 HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        sent = f"{head}content-length: {len(data)}\r\n\r\n".encode() + data
        with server.connected() as connection:
            connection.sendall(sent[:-10])  # gone before the end: nothing is accepted
        with server.connected() as connection:
            connection.sendall(sent)
            time.sleep(0.5)
        while server.metric('harness_grades_total{status="graded"}') < 1:
            time.sleep(0.1)
        assert server.metric("harness_accepted_total") == 1
        assert "Exception" not in server.log.read_text()


def test_a_second_server_on_one_workspace_does_not_start(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        second = called(server.root, "serve", "--no-auth", "--port", "0")
        assert second.returncode == 3 and "another server serves this workspace" in second.stderr


def test_a_server_that_asks_for_no_token_starts_only_where_that_is_stated_and_on_this_machine(tmp_path: Path) -> None:
    root = make_workspace(tmp_path).root
    tokens = TokenFile(root / ".harness" / "service_tokens.json")

    def refused(*options: str) -> str:
        ran = called(root, "serve", "--port", "0", *options)
        assert ran.returncode == 2 and "Traceback" not in ran.stderr, ran.stderr
        return ran.stderr

    for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "192.0.2.1"):
        words = refused("--host", host)
        assert str(tokens.path) in words and "harness serve token add NAME --scope grade" in words
        assert ("--no-auth" in words) == (host in ("127.0.0.1", "::1", "localhost"))
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        assert "harness serve token add" in refused("--host", host, "--no-auth")
    assert refused("--host", "nowhere.example")
    tokens.add("trainer", (Scope.READ,))
    assert "holds tokens" in refused("--no-auth")
    tokens.remove("trainer")
    assert "holds no token" in refused()


def small_disk(root: Path, options: str, filled: int = 0) -> tuple[str, ...]:
    """A prefix of a command for which the workspace's local folder is a small file system."""
    mounted = ("unshare", "--mount", *(() if os.getuid() == 0 else ("--map-root-user",)))
    if subprocess.run([*mounted, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode:
        pytest.skip("needs mount namespaces: root, or user namespaces for all")
    place = root / ".harness"
    fill = f"head -c {filled} /dev/zero > {place}/full || true;" if filled else ""
    script = f'mkdir -p {place}; mount -t tmpfs -o {options} none {place}; {fill} exec "$@"'
    return (*mounted, "bash", "-c", script, "bash")


def test_what_was_accepted_before_a_disk_is_full_is_graded(tmp_path: Path) -> None:
    """Room is kept for its records."""
    root = make_workspace(tmp_path).root
    with serving(root, prefix=small_disk(root, "size=17m")) as server:
        given = [server.grade(f"{REFERENCE}\nDATA = '{os.urandom(150_000).hex()}'\n", wait=0) for _ in range(12)]
        accepted = [one.json["id"] for one in given if one.status == 202]
        refused = [one for one in given if one.status == 503]
        assert accepted and refused and len(accepted) + len(refused) == 12
        assert {one.json["error"] for one in refused} == {"queue_unusable"} and str(root) not in str(refused)
        assert all("retry-after" in one.headers for one in refused)
        for id in accepted:
            assert server.ask("GET", f"/v1/grades/{id}?wait=60").json["reward"] == 1


@pytest.mark.parametrize(
    ("options", "filled", "words"),
    [("ro", 0, "Read-only file system"), ("size=64k", 1 << 17, "No space left on device")],
)
def test_a_folder_that_cannot_be_written_ends_the_start_in_words(
    options: str, filled: int, words: str, tmp_path: Path
) -> None:
    root = make_workspace(tmp_path).root
    line = [*small_disk(root, options, filled), *command("serve", "--no-auth", "--port", "0")]
    done = subprocess.run(line, capture_output=True, text=True, env=environment(root), timeout=120, check=False)
    assert done.returncode == 3 and words in done.stderr and "Traceback" not in done.stderr, done.stderr
