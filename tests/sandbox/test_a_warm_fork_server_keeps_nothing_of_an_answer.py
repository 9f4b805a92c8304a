"""A fork server that is lent to one answer after the other shows each its own files and nothing of the one before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.model import Limits
from harness.sandbox import WorkerSpec, detect
from harness.sandbox.session.pool import NAMESPACED, WarmForkServers, keep_warm, lender
from harness.sandbox.session.returns import Scalar
from harness.sandbox.session.worker_session import WorkerSession, start_fork_server

LEAVES = """
import os, pathlib
def look(): return repr(sorted(os.listdir(os.path.dirname(__file__))))
def leave():
    for place in ("/tmp", "/dev/shm", os.environ["HOME"]):
        try: pathlib.Path(place, "left").write_text("x")
        except OSError: pass
    return repr(find())
def find(): return [p for p in ("/tmp/left", "/dev/shm/left", os.environ["HOME"] + "/left") if os.path.exists(p)]
def found(): return repr(find())
"""
FUNCTIONS = ("look", "leave", "found")


@pytest.fixture(autouse=True)
def _warm() -> Iterator[None]:
    if detect() not in NAMESPACED:
        pytest.skip("nothing is kept warm without namespaces")
    with keep_warm():
        yield


def answer(folder: Path, name: str) -> WorkerSpec:
    folder.mkdir()
    folder.chmod(0o755)
    (folder / name).write_text(LEAVES)
    return WorkerSpec(folder, name, FUNCTIONS, Limits())


def asked(spec: WorkerSpec, *functions: str) -> list[str]:
    server = start_fork_server(spec)
    try:
        with WorkerSession(spec, server) as box:
            assert box.open().value == list(FUNCTIONS)
            return [box.call(function, returns=Scalar(str)).value for function in functions]
    finally:
        server.close()


def test_the_next_answer_finds_nothing_of_the_one_before(tmp_path: Path) -> None:
    first, second = answer(tmp_path / "a", "one.py"), answer(tmp_path / "b", "two.py")
    left, files = asked(first, "leave", "look")
    assert left != "[]"
    assert files == "['one.py']"
    assert asked(second, "look", "found") == ["['two.py']", "[]"]
    assert asked(first, "look", "found") == ["['one.py']", "[]"]


def test_answers_that_are_open_at_once_have_one_each(tmp_path: Path) -> None:
    first, second = answer(tmp_path / "a", "one.py"), answer(tmp_path / "b", "two.py")
    servers = [start_fork_server(spec) for spec in (first, second)]
    with WorkerSession(first, servers[0]) as one, WorkerSession(second, servers[1]) as two:
        for box in (one, two):
            box.open()
        seen = [box.call("look", returns=Scalar(str)).value for box in (one, two)]
    for server in servers:
        server.close()
        server.close()  # to give it back twice would lend it to two at once
    assert seen == ["['one.py']", "['two.py']"]
    servers = [start_fork_server(spec) for spec in (first, second)]
    assert servers[0]._kept is not servers[1]._kept
    for server in servers:
        server.close()


def test_nothing_stays_when_they_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    spec = answer(tmp_path / "a", "one.py")
    servers = WarmForkServers()
    lent = servers.lend(spec.folder, (spec.tier, 512, 16, 8))
    process = lent._kept.server._process
    assert process is not None
    lent.close()
    assert process.poll() is None
    servers.close()
    assert process.poll() is not None
    assert not list(tmp_path.glob("harness-*"))


def test_an_answer_that_is_shown_devices_has_one_of_its_own(tmp_path: Path) -> None:
    assert lender() is not None
    spec = answer(tmp_path / "a", "one.py")
    shown = WorkerSpec(spec.folder, spec.entry, FUNCTIONS, Limits(), devices=(Path("/dev/null"),))
    server = start_fork_server(shown)
    assert not hasattr(server, "_kept")
    server.close()
