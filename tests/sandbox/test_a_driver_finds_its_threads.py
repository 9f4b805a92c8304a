"""A device's driver finds its threads under /proc, may name them, and listens on a socket that reaches nobody."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.model import Limits, Tier
from harness.sandbox import CallStatus, Scalar, WorkerSession, WorkerSpec

ANSWER = """
import socket
import threading


def reach(address):
    kinds = {"packets": socket.SOCK_SEQPACKET, "stream": socket.SOCK_STREAM, "datagrams": socket.SOCK_DGRAM}
    worked = []
    for family in (socket.AF_UNIX, socket.AF_INET):
        for kind, number in kinds.items():
            try:
                made = socket.socket(family, number)
            except OSError:
                continue
            worked.append(f"{family.name} {kind}")
            made.bind("\\0driver")
            made.listen()
            try:
                made.connect(address)
                worked.append("connect")
            except OSError:
                pass
    return ", ".join(worked)


def named():
    thread = threading.get_native_id()
    with open(f"/proc/self/task/{thread}/comm", "w") as file:
        file.write("driver")
    with open(f"/proc/self/task/{thread}/comm") as file:
        return file.read().strip()


def in_a_thread():
    names = []
    thread = threading.Thread(target=lambda: names.append(named()))
    thread.start()
    thread.join()
    return names[0]
"""


@pytest.fixture
def box(tier: Tier, tmp_path: Path) -> Iterator[WorkerSession]:
    (tmp_path / "answer.py").write_text(ANSWER)
    functions = ("named", "in_a_thread", "reach")
    with WorkerSession(
        WorkerSpec(tmp_path, "answer.py", functions, Limits(), tier, (Path("/dev/null"), Path("/sys")))
    ) as opened:
        assert opened.open().status is CallStatus.RETURNED
        yield opened


@pytest.mark.parametrize("thread", ["named", "in_a_thread"])
def test_threads_are_named(box: WorkerSession, thread: str) -> None:
    reply = box.call(thread, returns=Scalar(str))
    assert (reply.status, reply.value) == (CallStatus.RETURNED, "driver"), reply.text


def test_a_socket_reaches_nobody(box: WorkerSession, tier: Tier, tmp_path: Path) -> None:
    if tier is Tier.UNSAFE:
        pytest.skip("a bare process holds nothing back")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(str(tmp_path / "server"))
        server.listen()
        reply = box.call("reach", str(tmp_path / "server"), returns=Scalar(str))
    assert (reply.status, reply.value) == (CallStatus.RETURNED, "AF_UNIX packets"), reply.text
