"""Nothing that an answer leaves behind outlives its worker: no shared memory, no key, no file."""

from pathlib import Path

import pytest

from harness.model import Limits
from harness.probing.answers import SandboxedAnswer
from harness.sandbox import Scalar, WorkerSpec, run
from tests.tiers_here import HELD

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
