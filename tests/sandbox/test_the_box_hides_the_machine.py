"""A box hides the machine: files, network, processes, open files, privileges; nothing lasts and all room is bounded."""

import os
import socket
from pathlib import Path

import pytest

import harness.grading.submission_grade
from harness.model import Limits
from harness.sandbox import CallStatus, Scalar, run
from tests.tiers_here import HELD, NAMESPACED

LIMITS = Limits(scratch_mib=4)
CLOSED = ("FileNotFoundError", "PermissionError")
SECRET = "a word that must not come out"
SOURCE = """
import ctypes, os, socket

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

def reads(path):
    try:
        return open(path).read()[:20]
    except OSError as error:
        return type(error).__name__

def writes(path):
    try:
        open(path, 'w').write('x')
        return 'written'
    except OSError as error:
        return type(error).__name__

def connects(port):
    try:
        socket.create_connection(('127.0.0.1', port), 1)
        return 'connected'
    except OSError as error:
        return type(error).__name__

def fills():
    try:
        with open(os.environ['TMPDIR'] + '/fill', 'wb') as file:
            for _ in range(64): file.write(bytes(1 << 20))
        return 'filled'
    except OSError as error:
        return type(error).__name__

def processes():
    try:
        return str([p for p in os.listdir('/proc') if p.isdigit()])
    except OSError as error:
        return type(error).__name__

def fills_everywhere():
    written = 0
    for place in {os.environ["TMPDIR"], "/tmp", "/dev/shm", "/dev", "/", "/run", "/var/tmp", os.path.dirname(__file__)}:
        for number in range(40):
            try:
                with open(os.path.join(place, f"fill{number}"), "wb", 0) as file:
                    for _ in range(3):
                        written += file.write(bytes(1 << 20))
            except OSError:
                break
    return written

def memory_files():
    made = 0
    for make in (lambda: os.memfd_create("x"), lambda: ctypes.CDLL(None).memfd_create(b"x", 0)):
        try:
            made += make() >= 0
        except OSError:
            pass
    return made
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


def ask(box, function, *arguments, kind=bool):
    """One answer of the boxed code."""
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
        for process in (1, os.getpid()):
            assert ask(box, "reads", f"/proc/{process}/status", kind=str) in CLOSED
    assert ask(box, "computes")


def test_files_outside_are_not_there(box):
    package = Path(harness.__file__).parent
    for path in (package / "grading/submission_grade.py", package.parent / "README.md", Path("/etc/passwd")):
        assert path.is_file()
        assert ask(box, "reads", str(path), kind=str) in CLOSED


def test_what_lasts_is_read_only(box):
    for path in (f"{box.spec.folder}/answer.py", "/submission/answer.py", "/usr/x", "/x"):
        assert ask(box, "writes", path, kind=str) in (*CLOSED, "OSError")


def test_a_file_in_scratch_is_bounded(box):
    assert ask(box, "fills", kind=str) == "OSError"


def test_the_network_is_gone(box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = ask(box, "connects", server.getsockname()[1], kind=str)
    assert said in ("OSError", "ConnectionRefusedError", "PermissionError")


def test_other_processes_are_not_seen(box):
    assert ask(box, "processes", kind=str) == "PermissionError"


def test_the_file_systems_of_a_box_are_small(box):
    # those that bubblewrap makes hold half the machine's memory each, unless they are told otherwise
    if box.spec.tier in NAMESPACED:
        assert 0 < ask(box, "fills_everywhere", kind=int) <= (LIMITS.scratch_mib + 1) << 20


def test_memory_that_belongs_to_no_process_cannot_be_had(box):
    # neither a limit of address space nor one of file size counts the pages of a memory file
    assert ask(box, "memory_files", kind=int) == 0
