"""However a worker starts and ends, its parent then has what it had before: no descriptor, group or folder more."""

import os
import tempfile
import threading
import time
from pathlib import Path

import pytest

from harness.errors import BoxError
from harness.model import Limits
from harness.sandbox import (
    CallStatus,
    CommandLimit,
    Nothing,
    Scalar,
    Tier,
    WorkerSession,
    WorkerSpec,
    run,
    start_fork_server,
)
from harness.sandbox.confinement import cgroup
from harness.sandbox.confinement.protocol import FileAccess
from harness.sandbox.session.tiers import why_not
from harness.sandbox.session.worker_session import ForkServer
from tests.tiers_here import NAMESPACED

SOURCE = """
import os
def f(): return 1
def leave(): os._exit(3)
def closed_folders():
    for mode in (0, 0o300):
        os.mkdir(f"closed{mode}", mode)
    os.close(os.open(f"closed{0o300}/file", os.O_CREAT))
def empty_files():
    made = 0
    try:
        while made < 100_000:
            os.close(os.open(f"{made}", os.O_CREAT))
            made += 1
    except OSError:
        pass
    return made
"""


@pytest.fixture
def target(tmp_path, tier, monkeypatch):
    """Its scratch folders lie where they can be counted."""
    answer, temporary = tmp_path / "answer", tmp_path / "temporary"
    for folder in (answer, temporary):
        folder.mkdir()
    (answer / "answer.py").write_text(SOURCE)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return WorkerSpec(answer, "answer.py", (), Limits(), tier)


def held() -> tuple[int, list[str], list[str]]:
    """Open descriptors, scratch folders and control groups of this process."""
    groups = [str(path) for own in cgroup.own_folders() for path in own.path.glob(f"{cgroup.PREFIX}*-{os.getpid()}-*")]
    return len(os.listdir("/proc/self/fd")), os.listdir(tempfile.gettempdir()), groups


def once(target):
    with WorkerSession(target) as box:
        assert box.open().status is CallStatus.RETURNED
        box.call("closed_folders", returns=Nothing())
        box.call("leave", returns=Nothing())
    assert run(["python", "-c", "raise SystemExit(4)"], target.folder, tier=target.tier, seconds=20).returncode == 4


def test_workers_and_commands_that_end(target):
    once(target)
    before = held()
    once(target)
    assert held() == before


def test_bubblewrap_that_goes_away_during_a_run_is_said_and_no_word_about_the_answer(target, monkeypatch, tmp_path):
    once(target)
    before = held()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        if target.tier in NAMESPACED:
            with (
                pytest.raises(BoxError, match=r"bwrap is not on PATH any more\n  try: install"),
                WorkerSession(target) as box,
            ):
                box.open()
            with pytest.raises(BoxError, match=r"bwrap is not on PATH any more\n  try: install"):
                run(["python", "-c", "pass"], target.folder, tier=target.tier, seconds=20)
        else:
            once(target)
    assert held() == before


def test_a_zygote_that_is_killed_is_said(target):
    once(target)
    before = held()
    with start_fork_server(target) as fork_server:
        with WorkerSession(target, fork_server) as box:
            assert box.open().status is CallStatus.RETURNED
            assert fork_server._process is not None
            fork_server._process.kill()
            assert box.call("f", returns=Scalar(int), seconds=5).status in (CallStatus.CRASHED, CallStatus.RETURNED)
        with pytest.raises(BoxError, match=r"cannot fork|did not start"), WorkerSession(target, fork_server) as box:
            fork_server._process.wait()
            box.open()
    assert held() == before


def test_a_zygote_that_cannot_start_leaves_nothing(target, monkeypatch):
    once(target)
    before = held()
    monkeypatch.setattr("harness.sandbox.confinement.visible_files.interpreter", lambda: "/no/such/interpreter")
    with pytest.raises(BoxError), ForkServer(FileAccess(target.folder), target.tier, 512) as fork_server:
        fork_server.fork({})
    assert held() == before


def test_the_thread_that_opened_a_box_may_end(target):
    # the kernel's signal at a parent's death is sent when the thread ends that started the child
    opened: list[WorkerSession] = []

    def open_one() -> None:
        opened.append(WorkerSession(target))
        assert opened[0].open().status is CallStatus.RETURNED

    thread = threading.Thread(target=open_one)
    thread.start()
    thread.join()
    time.sleep(0.2)
    with opened[0] as box:
        assert box.call("f", returns=Scalar(int)).value == 1


def test_files_without_a_byte_are_bounded_too(target):
    # each takes memory of the kernel; where scratch is mounted for the worker alone it holds so many and no more
    if target.tier in NAMESPACED:
        with WorkerSession(target) as box:
            assert box.open().status is CallStatus.RETURNED
            assert 1000 < box.call("empty_files", returns=Scalar(int), seconds=60).value < 10_000


def test_the_group_bounds_memory_where_no_limit_of_addresses_does(tmp_path):
    if reason := why_not(Tier.A):
        pytest.skip(f"no tier A: {reason}")
    (tmp_path / "answer.py").write_text("def eat():\n    held = []\n    while True: held.append(bytearray(1 << 26))\n")
    # a driver of a device needs more addresses than any limit, so that only the group is left
    target = WorkerSpec(tmp_path, "answer.py", (), Limits(memory_mib=256), Tier.A, (Path("/dev/null"),))
    with WorkerSession(target) as box:
        assert box.open().status is CallStatus.RETURNED
        reply = box.call("eat", returns=Nothing(), seconds=30)
    assert reply.status is CallStatus.CRASHED and "signal 9" in reply.text


def test_a_report_without_end_holds_nobody(tmp_path, tier):
    code = "import os\nwhile True: os.write(3, b'x' * 65536)"
    start = time.monotonic()
    done = run(["python", "-c", code], tmp_path, tier=tier, seconds=30)
    assert done.exceeded is CommandLimit.OUTPUT and done.returncode is None and len(done.report) <= 1 << 20
    assert time.monotonic() - start < 25
