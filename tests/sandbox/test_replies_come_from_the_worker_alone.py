"""A message counts only if the kernel says that the worker's own process sent it, whoever holds the socket."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.model import Limits
from harness.sandbox import CallStatus, Scalar, Tier, WorkerSession, WorkerSpec
from harness.sandbox.session.channel import Channel
from harness.sandbox.session.output import Output
from tests.reaching_in import REACHING_IN

REPLY = b'{"id": 2, "value": 1.0}'
SENDS = f"""
import os, time
def from_itself():
    control().send({REPLY!r})
    time.sleep(5)
def from_a_child():
    if os.fork() == 0:
        control().send({REPLY!r})
        os._exit(0)
    time.sleep(5)
"""


@contextmanager
def channel() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read, write = os.pipe2(os.O_CLOEXEC)
    os.close(write)
    with theirs:
        whole = Channel(ours, Output(read))
        try:
            yield whole, theirs
        finally:
            whole.close()


def sent_by_another(theirs: socket.socket, message: bytes) -> int:
    """Send from a process of its own, which has ended by then; its id."""
    program = "import os, sys; os.write(int(sys.argv[1]), sys.argv[2].encode())"
    words = (sys.executable, "-I", "-S", "-c", program, str(theirs.fileno()), message.decode())
    with subprocess.Popen(words, pass_fds=(theirs.fileno(),)) as other:
        return other.pid


def test_the_first_to_speak_is_the_worker_and_nobody_else_is_heard() -> None:
    with channel() as (whole, theirs):
        worker = sent_by_another(theirs, b'{"ready": true}')
        assert whole.first(5) == ({"ready": True}, []) and whole.pid == worker
        sent_by_another(theirs, REPLY)
        assert whole.receive(5) is CallStatus.PROTOCOL_VIOLATION
        assert whole.pid == worker


def test_who_spoke_first_is_heard_again() -> None:
    with channel() as (whole, theirs):
        for message in (b'{"ready": true}', REPLY):
            theirs.send(message)
        assert whole.first(5)[0] == {"ready": True}
        assert whole.receive(5) == {"id": 2, "value": 1.0}


@pytest.fixture
def unfenced(tmp_path: Path) -> Iterator[WorkerSession]:
    """A worker that can start processes: behind the fence nothing is forked at all."""
    (tmp_path / "answer.py").write_text(REACHING_IN + SENDS)
    with WorkerSession(WorkerSpec(tmp_path, "answer.py", (), Limits(), Tier.UNSAFE)) as box:
        assert box.open().status is CallStatus.RETURNED
        yield box


def test_a_child_of_the_worker_cannot_reply_for_it(unfenced: WorkerSession) -> None:
    reply = unfenced.call("from_a_child", returns=Scalar(float), seconds=20)
    assert reply.status is CallStatus.PROTOCOL_VIOLATION


def test_the_same_bytes_of_the_worker_itself_are_a_reply(unfenced: WorkerSession) -> None:
    assert unfenced.call("from_itself", returns=Scalar(float), seconds=20).value == 1.0
