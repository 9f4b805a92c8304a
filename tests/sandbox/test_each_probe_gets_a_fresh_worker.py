"""No state survives from one probe to the next: not in memory, in files, in the environment, or in random numbers."""

import pytest

from harness.model import Limits
from harness.sandbox import CallStatus, Scalar, WorkerSession, WorkerSpec, start_fork_server
from tests.tiers_here import TIERS

SOURCE = """
import os, random, sys, time
import numpy as np

seen = 0

def leaves():
    found = []
    if globals()["seen"]: found.append("a global")
    if hasattr(np, "left"): found.append("an attribute of NumPy")
    if "left" in sys.modules: found.append("a module")
    if "LEFT" in os.environ: found.append("a variable")
    if os.path.exists("left"): found.append("a file in the scratch folder")
    if os.path.exists(os.path.join(os.environ["TMPDIR"], "left")): found.append("a file in TMPDIR")
    if os.path.basename(os.getcwd()) == "elsewhere": found.append("a folder")
    if np.geterr()["divide"] == "raise": found.append("how NumPy takes errors")
    if sys.getrecursionlimit() == 777: found.append("a limit")
    globals()["seen"] = 1
    np.left = 1
    sys.modules["left"] = np
    os.environ["LEFT"] = "1"
    open("left", "w").close()
    open(os.path.join(os.environ["TMPDIR"], "left"), "w").close()
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    np.seterr(all="raise")
    sys.setrecursionlimit(777)
    np.random.seed(1)
    random.seed(1)
    return " ".join(found)

def draws():
    numbers = (np.random.random(), random.random(), np.random.default_rng().random())
    return " ".join(repr(float(number)) for number in numbers)

def replaces():
    np.sum = lambda *_: 0.0
    np.linalg.norm = lambda *_: 0.0
    sys.path.insert(0, os.getcwd())
    return "replaced"

def works():
    return repr((float(np.sum(np.ones(3))), float(np.linalg.norm(np.ones(4))), os.getcwd() in sys.path))
"""


@pytest.fixture(params=TIERS)
def target(request, tmp_path):
    (tmp_path / "answer.py").write_text(SOURCE)
    return WorkerSpec(tmp_path, "answer.py", (), Limits(), request.param)


@pytest.fixture
def fork_server(target):
    started = start_fork_server(target)
    yield started
    started.close()


def ask(target, fork_server, *functions):
    """What each function says, one after the other in a worker of their own."""
    with WorkerSession(target, fork_server) as box:
        assert box.open().status is CallStatus.RETURNED
        replies = [box.call(function, returns=Scalar(str)) for function in functions]
    assert all(reply.status is CallStatus.RETURNED for reply in replies), replies
    return [reply.value for reply in replies]


def test_a_worker_sees_nothing_of_the_one_before(target, fork_server):
    # the second look in one worker shows that there was something to see
    first, second = ask(target, fork_server, "leaves", "leaves")
    assert first == "" and len(second.split(" a")) > 6
    for _ in range(3):
        assert ask(target, fork_server, "leaves") == [""]


def test_what_one_worker_replaces_the_next_one_has(target, fork_server):
    assert ask(target, fork_server, "replaces") == ["replaced"]
    assert ask(target, fork_server, "works") == [repr((3.0, 2.0, False))]


def test_every_worker_draws_numbers_of_its_own(target, fork_server):
    # forked from one process, all would begin with the same: an answer that checks itself on them would see one case
    drawn = [number for _ in range(3) for number in ask(target, fork_server, "draws")[0].split()]
    assert len(set(drawn)) == 9
    ask(target, fork_server, "leaves")
    assert not set(ask(target, fork_server, "draws")[0].split()) & set(drawn)
