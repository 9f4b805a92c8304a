"""In bubblewrap an answer sees no network, no file of the harness or its references, and writes nowhere that lasts."""

from pathlib import Path

import pytest

from harness.box import Box, Came, Scalar, Target, Tier
from harness.box.tiers import why_no_bubblewrap
from harness.model import Limits

pytestmark = pytest.mark.skipif(why_no_bubblewrap() is not None, reason=f"no bubblewrap: {why_no_bubblewrap()}")

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
        with open('/tmp/fill', 'wb') as file:
            for _ in range(64): file.write(bytes(1 << 20))
        return 'filled'
    except OSError as error:
        return type(error).__name__
def processes(): return str(len([p for p in os.listdir('/proc') if p.isdigit()]))
"""


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submission")
    (folder / "answer.py").write_text(SOURCE)
    with Box(Target(folder, "answer.py", (), Limits(scratch_mib=4), Tier.BUBBLEWRAP)) as box:
        assert box.open().came is Came.BACK
        yield box


def ask(box, function, *args):
    return box.call(function, *args, returns=Scalar(str)).value


def test_files_outside_are_not_there(box):
    import harness

    package = Path(harness.__file__).parent
    for path in (package / "grading.py", package.parent / "README.md", Path("/etc/passwd")):
        assert path.is_file()
        assert ask(box, "reads", str(path)) == "FileNotFoundError"


def test_the_submission_is_read_only_and_scratch_is_small(box):
    assert ask(box, "writes", "/submission/answer.py") == "OSError"
    assert ask(box, "writes", "/usr/x") == "OSError"
    assert ask(box, "writes", "/x") == "OSError"
    assert ask(box, "fills") == "OSError"


def test_the_network_is_gone(box):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        assert ask(box, "connects", server.getsockname()[1]) in ("OSError", "ConnectionRefusedError")


def test_other_processes_are_not_seen(box):
    assert int(ask(box, "processes")) <= 2
