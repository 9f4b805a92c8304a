"""What a launch shows by accident stays hidden: open files, command lines, our own source, the privileges of root."""

import os
from pathlib import Path

import pytest

import harness.grading.submission_grade
from harness.model import Limits
from harness.sandbox import CallStatus, Scalar, WorkerSession, WorkerSpec, run
from tests.tiers_here import HELD, NAMESPACED

SECRET = "a word that must not come out"
SOURCE = """
import ctypes, os

def open_files():
    found = []
    for number in range(256):
        try:
            found.append(os.pread(number, 100, 0).decode(errors="replace"))
        except OSError:
            pass
    return " ".join(found)

def command_lines():
    found = []
    for process in ["self", *map(str, range(1, 400))]:
        for name in ("cmdline", "environ"):
            try:
                found.append(open(f"/proc/{process}/{name}").read())
            except OSError:
                pass
    return " ".join(found)

def opens(path):
    try:
        open(path).close()
    except OSError:
        return False
    return True

def imports(name):
    try:
        __import__(name)
    except ImportError:
        return False
    except OSError:
        return False
    return True

def becomes_root():
    for change in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.chroot("/tmp"),
                   lambda: os.mknod(os.environ["TMPDIR"] + "/disk", 0o60600, os.makedev(254, 0))):
        try:
            change()
            return True
        except OSError:
            pass
    return False

def writes_scratch():
    path = os.path.join(os.environ["TMPDIR"], "file")
    with open(path, "w") as file:
        file.write("kept")
    return open(path).read() == "kept" and os.getcwd() == os.path.realpath(os.environ["TMPDIR"])

def computes():
    import numpy as np
    return float(np.linalg.inv(np.eye(3))[0, 0]) == 1.0
"""


@pytest.fixture
def secret(tmp_path):
    """The number of an inheritable descriptor of ours, open on a file with the secret."""
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    opened = os.open(path, os.O_RDONLY)
    os.dup2(opened, 57, inheritable=True)
    os.close(opened)
    yield 57
    os.close(57)


@pytest.fixture(params=HELD)
def box(request, tmp_path):
    folder = tmp_path / "answer"
    folder.mkdir()
    (folder / "answer.py").write_text(SOURCE)
    with WorkerSession(WorkerSpec(folder, "answer.py", (), Limits(), request.param)) as box:
        yield box


def ask(box, function, *arguments, kind=bool):
    """One answer of the boxed code."""
    if not box.pid:
        assert box.open().status is CallStatus.RETURNED
    reply = box.call(function, *arguments, returns=Scalar(kind))
    assert reply.status is CallStatus.RETURNED, reply.text
    return reply.value


def test_no_open_file_of_ours_comes_along_into_a_worker(secret, box):
    # neither bubblewrap nor a fork closes what its parent has open
    assert SECRET not in ask(box, "open_files", kind=str)


@pytest.mark.parametrize("held", HELD)
def test_no_open_file_of_ours_comes_along_into_a_command(secret, held, tmp_path):
    code = "import os\nfor n in range(64):\n    try: print(os.pread(n, 100, 0))\n    except OSError: pass"
    done = run(["python", "-c", code], tmp_path, tier=held, seconds=20)
    assert done.returncode == 0 and SECRET not in done.output


def test_command_lines_tell_no_path_of_the_machine(box):
    # what starts a box names every folder it shows, and /proc repeats it to whoever is inside
    seen = ask(box, "command_lines", kind=str)
    assert str(box.spec.folder) not in seen and str(Path(harness.__file__).parent) not in seen


def test_beside_the_worker_lies_nothing_of_the_grader(box):
    # a folder that holds the worker and its parent alike lets the answer read how it is graded
    assert not ask(box, "opens", harness.grading.submission_grade.__file__)
    assert not ask(box, "imports", "harness.grading.submission_grade")


def test_root_outside_is_nobody_inside(box):
    # started by root, a box keeps its user id and every capability unless they are taken away
    assert not ask(box, "becomes_root")


def test_scratch_space_belongs_to_whoever_is_inside(box):
    # made by root, it would be root's alone, and the first temporary file of an honest answer would fail
    assert ask(box, "writes_scratch")


def test_without_namespaces_the_table_of_processes_is_closed(box):
    # there, /proc is the machine's own; numerical work does not need it
    if box.spec.tier not in NAMESPACED:
        assert not ask(box, "opens", "/proc/1/status") and not ask(box, "opens", f"/proc/{os.getpid()}/status")
    assert ask(box, "computes")
