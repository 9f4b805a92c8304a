"""Whatever an answer can write into is bounded: the file systems that a box brings along, and memory nobody owns."""

import pytest

from harness.model import Limits
from harness.sandbox import CallStatus, Scalar, WorkerSession, WorkerSpec
from tests.tiers_here import HELD, NAMESPACED

SOURCE = """
import ctypes, os

def fills():
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
SCRATCH = 4


def ask(tier, folder, function):
    (folder / "answer.py").write_text(SOURCE)
    with WorkerSession(WorkerSpec(folder, "answer.py", (), Limits(scratch_mib=SCRATCH), tier)) as box:
        assert box.open().status is CallStatus.RETURNED
        reply = box.call(function, returns=Scalar(int))
    assert reply.status is CallStatus.RETURNED, reply.text
    return reply.value


@pytest.mark.parametrize("held", [p for p in HELD if p.values[0] in NAMESPACED])
def test_the_file_systems_of_a_box_are_small(tmp_path, held):
    # those that bubblewrap makes hold half the machine's memory each, unless they are told otherwise
    assert 0 < ask(held, tmp_path, "fills") <= (SCRATCH + 1) << 20


@pytest.mark.parametrize("held", HELD)
def test_memory_that_belongs_to_no_process_cannot_be_had(tmp_path, held):
    # neither a limit of address space nor one of file size counts the pages of a memory file
    assert ask(held, tmp_path, "memory_files") == 0
