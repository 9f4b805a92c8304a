"""What the service accepted is graded on a Ray cluster, once, whatever becomes of the server or of the cluster.

Against real Ray with nodes on the loopback address; the answers are references of a real challenge.
"""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="no ray (240 MB installed): .venv/bin/python -m pip install -e '.[ray]'")

from servers import Server, serving

from harness.store.record_store import Store
from harness.workspace import Workspace
from tests.commands import called
from tests.ray_nodes import ON_RAY, LocalNodes, local_nodes

pytestmark = ON_RAY

ROOT = Path(__file__).parents[2]
CHALLENGE = "layernorm_backward"
SOURCE = (ROOT / "references" / CHALLENGE / "reference.py").read_text(encoding="utf-8")
GRADED = 'harness_grades_total{status="graded"}'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for kind in ("challenges", "references"):
        shutil.copytree(ROOT / kind / CHALLENGE, tmp_path / kind / CHALLENGE)
    return tmp_path


@pytest.fixture(scope="module")
def two() -> Iterator[LocalNodes]:
    """A cluster of two nodes."""
    with local_nodes(1, 1) as nodes:
        yield nodes


def over(nodes: LocalNodes) -> tuple[str, ...]:
    """Options of a server that grades on a cluster."""
    return "--executor", "ray", "-j", "2", "--address", nodes.address


def sent(server: Server, numbers: range) -> list[str]:
    """Ids of right answers, every one another file."""
    answers = [
        {"challenge": CHALLENGE, "profile": "reward", "files": {"answer.py": f"{SOURCE}\n# {number}\n"}}
        for number in numbers
    ]
    return [server.ask("POST", "/v1/grades", answer).json["id"] for answer in answers]


def waited(server: Server, ids: list[str]) -> list[dict[str, Any]]:
    """Their grades, waited for one after the other."""
    given = []
    for id in ids:
        while (reply := server.ask("GET", f"/v1/grades/{id}?wait=60")).status == 202:
            pass
        given.append(reply.json)
    return given


def until_graded(server: Server, count: int) -> None:
    deadline = time.monotonic() + 120
    while server.metric(GRADED) < count:
        assert time.monotonic() < deadline, server.log.read_text()
        time.sleep(0.05)


def works(root: Path) -> list[tuple[int, ...]]:
    """Works, contents, jobs, the least state and the most deaths of what was accepted."""
    with closing(sqlite3.connect(root / ".harness" / "service.sqlite")) as connection:
        whole = (
            "SELECT COUNT(*), COUNT(DISTINCT content), (SELECT COUNT(*) FROM jobs), MIN(state), MAX(deaths) FROM works"
        )
        return connection.execute(whole).fetchall()


def slots_of(nodes: LocalNodes) -> set[int]:
    """Process ids of the slots on a cluster's nodes."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cmdline").read_bytes().startswith(b"ray::GradingSlot"):
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if nodes.address in Path("/proc", parent, "cmdline").read_text():
                    found.add(int(entry.name))
    return found


def test_a_kill_in_the_middle_loses_no_job_and_doubles_none(two: LocalNodes, root: Path) -> None:
    with serving(root, *over(two)) as server:
        ids = sent(server, range(8))
        until_graded(server, 2)
        server.process.kill()
        server.process.wait()
    before = {record.key: record for record in Store(Workspace(root)).records()}
    assert 2 <= len(before) < 8
    with serving(root, *over(two)) as server:
        assert "accepted before" in server.log.read_text()
        assert [grade["reward"] for grade in waited(server, ids)] == [1] * 8
        assert server.stop() == 0
    after = {record.key: record for record in Store(Workspace(root)).records()}
    assert len(after) == 8 and all(after[key] == record for key, record in before.items()), "what was graded is kept"
    assert works(root) == [(8, 8, 8, 2, 0)]


def test_the_nodes_are_held_from_one_answer_to_the_next(two: LocalNodes, root: Path) -> None:
    with serving(root, *over(two)) as server:
        held = []
        for number in range(3):
            waited(server, sent(server, range(number, number + 1)))
            held.append(slots_of(two))
        assert held[1] == held[2] and len(held[2]) == 2


def test_a_lost_cluster_keeps_what_was_accepted_waiting(root: Path) -> None:
    """It is no answer's fault: the server says that nothing grades, and another cluster makes the records."""
    with local_nodes(1, 1) as nodes, serving(root, *over(nodes)) as server:
        ids = sent(server, range(6))
        until_graded(server, 1)
        nodes.close()
        deadline = time.monotonic() + 120
        while "no Ray cluster at" not in server.log.read_text():
            assert time.monotonic() < deadline, server.log.read_text()
            time.sleep(0.2)
        ready = server.ask("GET", "/readyz")
        assert ready.status == 503 and ready.json == {"accepting": True, "grading": False, "writable": True}
        ids += sent(server, range(6, 8))
        assert server.stop() == 0
    with local_nodes(1, 1) as nodes, serving(root, *over(nodes)) as server:
        assert [grade["reward"] for grade in waited(server, ids)] == [1] * 8
    assert works(root)[0][:4] == (8, 8, 8, 2)


def test_a_server_whose_cluster_is_not_there_does_not_start(root: Path) -> None:
    refused = called(root, "serve", "--port", "0", "--executor", "ray", "--address", "127.0.0.1:1")
    assert refused.returncode == 3 and "no Ray cluster at 127.0.0.1:1" in refused.stderr
    assert "ray start --head" in refused.stderr and "Traceback" not in refused.stderr
    refused = called(root, "serve", "--port", "0", "--address", "127.0.0.1:1")
    assert refused.returncode == 2 and "--executor ray" in refused.stderr
