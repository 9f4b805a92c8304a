"""Nothing of a submission outlives its box: no process, no folder, no shared memory."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness.model import Limits
from harness.probing.answers import SandboxedAnswer
from harness.sandbox import CallStatus, Nothing, Scalar, WorkerSession, WorkerSpec, run
from harness.sandbox.confinement import scratch
from tests.tiers_here import HELD

FORKS = """
import os, time
def f():
    for _ in range(3):
        try:
            child = os.fork()
        except PermissionError:  # where the fence stands nothing is forked at all
            return
        if child == 0:
            time.sleep(60)
            os._exit(0)
"""
NESTS = """
import os
def f():
    for _ in range(1500):
        os.mkdir("a")
        os.chdir("a")
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made for the length of the test."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def running(folder: Path) -> list[str]:
    """Processes that were told to keep their files under `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("source", [FORKS, NESTS], ids=["forks", "nests folders"])
def test_a_closed_box_leaves_no_process_and_no_folder(opened, tier, temporary, source):
    box = opened(source)
    # folders nested deeper than can be looked into count as too much where scratch space is looked at from outside
    assert box.call("f", returns=Nothing()).status in (CallStatus.RETURNED, CallStatus.RESOURCE_LIMIT)
    box.close()
    time.sleep(0.2)  # the kernel ends the members of a group one after the other
    assert not list(temporary.iterdir()) and not running(temporary)


def test_a_command_that_is_killed_leaves_no_process(tmp_path, tier, temporary):
    (tmp_path / "t.py").write_text("import os, time\nos.fork()\ntime.sleep(60)\n")
    assert run(["python", "t.py"], tmp_path, tier=tier, seconds=1, wall_seconds=1).timed_out
    time.sleep(0.2)
    assert not list(temporary.iterdir()) and not running(temporary)


def test_an_interrupt_while_a_box_opens_leaves_nothing(tmp_path, tier, temporary, monkeypatch):
    (tmp_path / "answer.py").write_text("def f(): return 1\n")
    answer = SandboxedAnswer(WorkerSpec(tmp_path, "answer.py", ("f",), Limits(), tier))

    def interrupted(box: WorkerSession, folder: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(WorkerSession, "_import", interrupted)
        answer.open()
    assert not list(temporary.iterdir()) and not running(temporary)
    assert answer.call("f", returns=Scalar(int)) == 1
    answer.close()


HELD_BY_ANOTHER = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from harness.sandbox.confinement import scratch
print(scratch.make(), flush=True)
time.sleep(60)
"""


def test_a_sweep_removes_at_once_what_no_living_process_holds(temporary):
    command = (sys.executable, "-c", HELD_BY_ANOTHER, str(temporary))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            held = Path(other.stdout.readline().strip())
            own = scratch.make()
            # of a process that was killed together with its keeper: of an id that is taken again, as in a container
            (left := temporary / f"{scratch.PREFIX}{os.getpid()}-0-left").mkdir()
            (left / "deep").mkdir()
            (away := temporary / "elsewhere").mkdir()
            (temporary / f"{scratch.PREFIX}1-0-link").symlink_to(away)
            assert scratch.sweep() == 1
            assert not left.exists() and held.exists() and own.exists() and away.exists()
        finally:
            other.kill()
    scratch.remove(own)
    assert not own.exists()


KEY = 0x68617266
LEAVES = f"""
import ctypes, os

PLACES = [os.path.join(place, "left") for place in ("/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~"), ".")]
call = ctypes.CDLL(None).syscall

def seen():
    found = [place for place in PLACES if os.path.exists(place)]
    found += ["a segment"] if call(29, {KEY}, 4096, 0) >= 0 else []
    found += ["a key"] if call(250, 10, -4, b"user", b"left", 0) >= 0 else []
    return " ".join(found)

def leave():
    before = seen()
    for place in PLACES:
        try:
            open(place, "w").close()
        except OSError:
            pass
    call(29, {KEY}, 4096, 0o1666)
    call(248, b"user", b"left", b"x", 1, -4)
    return before
"""


def segments() -> str:
    return Path("/proc/sysvipc/shm").read_text()


@pytest.mark.parametrize("held", HELD)
def test_a_fresh_worker_finds_nothing_of_the_one_before(tmp_path, held):
    # workers forked from one process share what it has, unless each gets its own
    (tmp_path / "answer.py").write_text(LEAVES)
    answer = SandboxedAnswer(WorkerSpec(tmp_path, "answer.py", ("leave",), Limits(), held))
    before = segments()
    try:
        for _ in range(3):
            assert answer.call("leave", returns=Scalar(str)) == ""
            answer.fresh()
    finally:
        answer.close()
    assert segments() == before and not Path("/dev/shm/left").exists()


@pytest.mark.parametrize("held", HELD)
def test_a_command_leaves_no_shared_memory_on_the_machine(tmp_path, held):
    # a shared segment lives until it is removed or the machine restarts, whoever made it
    before = segments()
    (tmp_path / "t.py").write_text(LEAVES + "\nprint('seen:', leave() or 'nothing')\n")
    for _ in range(2):
        done = run(["python", "t.py"], tmp_path, tier=held, seconds=20)
        assert done.output.strip().endswith("seen: nothing"), done.output
    assert segments() == before and not Path("/dev/shm/left").exists()
