"""Devices are shown when asked for; a driver finds its threads and reaches nobody."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.model import Limits, Tier
from harness.sandbox import CallStatus, Scalar, WorkerSession, WorkerSpec
from tests.tiers_here import NAMESPACED

ASKING = """
import os, resource

def sees(path):
    return int(os.path.exists(path))

def addresses_limited():
    return int(resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY)
"""
BESIDE = Path("/etc/passwd")
"""Lies in a folder that the box does not show by itself."""
FUNCTIONS = ("sees", "addresses_limited")
DEVICE = Path("/dev/kmsg")
"""Stands for a GPU's device file: one that the box's own /dev does not have."""


@pytest.mark.skipif(not DEVICE.exists(), reason=f"{DEVICE} is not here to stand for a device")
@pytest.mark.parametrize("shown", [True, False])
def test_what_is_named_is_shown(tmp_path: Path, tier: Tier, shown: bool) -> None:
    folder = tmp_path / "answer"
    folder.mkdir()
    (folder / "answer.py").write_text(ASKING)
    devices = (DEVICE, BESIDE.parent) if shown else ()
    with WorkerSession(WorkerSpec(folder, "answer.py", FUNCTIONS, Limits(), tier, devices)) as box:
        assert box.open().status is CallStatus.RETURNED
        seen = [box.call("sees", str(p), returns=Scalar(int)).value for p in (DEVICE, BESIDE)]
        assert seen == ([1, 1] if shown or tier not in NAMESPACED else [0, 0])
        assert box.call("addresses_limited", returns=Scalar(int)).value == (0 if shown else 1)


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
