"""An answer sees no network, no file of the harness or its references, and writes nowhere that lasts."""

import socket
from pathlib import Path

import harness
from harness.model import Limits
from harness.sandbox import Scalar

SOURCE = """
import os, socket
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
"""


LIMITS = Limits(scratch_mib=4)


def ask(box, function, *args):
    return box.call(function, *args, returns=Scalar(str)).value


def test_files_outside_are_not_there(box):
    package = Path(harness.__file__).parent
    for path in (package / "grading/submission_grade.py", package.parent / "README.md", Path("/etc/passwd")):
        assert path.is_file()
        assert ask(box, "reads", str(path)) in ("FileNotFoundError", "PermissionError")


def test_what_lasts_is_read_only(box):
    for path in (f"{box.spec.folder}/answer.py", "/submission/answer.py", "/usr/x", "/x"):
        assert ask(box, "writes", path) in ("FileNotFoundError", "PermissionError", "OSError")


def test_a_file_in_scratch_is_bounded(box):
    assert ask(box, "fills") == "OSError"


def test_the_network_is_gone(box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert ask(box, "connects", server.getsockname()[1]) in ("OSError", "ConnectionRefusedError", "PermissionError")


def test_other_processes_are_not_seen(box):
    assert ask(box, "processes") == "PermissionError"
