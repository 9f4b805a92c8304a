"""Each probe gets a fresh worker, whose entry is compiled once and whose modules are the submission's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.model import Limits, Tier
from harness.sandbox import CallStatus, RemoteFunction, Reply, Scalar, WorkerSession, WorkerSpec, start_fork_server
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


TAMPERS = """
import builtins, importlib.machinery, marshal

def forged(*_): return compile("def told(): return 'forged'", "forged", "exec")
builtins.__dict__["compile"], real = forged, compile
importlib.machinery.SourceFileLoader.get_code = forged
marshal.dumps = lambda *_: b""

def told(): return "as written, in " + __file__.rsplit("/")[-1] + " of " + __spec__.name
"""
RAISES = '''
"""A docstring."""

def told():
    raise ValueError(__doc__)
'''


def workers(folder: Path, source: str, tier: Tier, count: int) -> Iterator[WorkerSession]:
    """Workers of one answer, one after the other."""
    (folder / "answer.py").write_text(source)
    spec = WorkerSpec(folder, "answer.py", ("told",), Limits(), tier, sources=("answer.py",))
    server = start_fork_server(spec)
    try:
        for _ in range(count):
            with WorkerSession(spec, server) as box:
                yield box
    finally:
        server.close()


def told(box: WorkerSession) -> Reply:
    assert box.open().value == ["told"]
    return box.call("told", returns=Scalar(str))


def test_what_an_answer_does_to_the_compiler_reaches_no_later_worker(tmp_path: Path, tier: Tier) -> None:
    said = [told(box).value for box in workers(tmp_path, TAMPERS, tier, 3)]
    assert said == ["as written, in answer.py of submission_entry"] * 3


def test_errors_have_their_place_in_every_worker(tmp_path: Path, tier: Tier) -> None:
    first, *others = (told(box) for box in workers(tmp_path, RAISES, tier, 3))
    assert first.status is CallStatus.RAISED and [place.line for place in first.locations] == [5]
    assert all((o.text, o.exception, o.locations) == (first.text, "ValueError", first.locations) for o in others)


def test_what_does_not_compile_is_told_by_every_worker(tmp_path: Path, tier: Tier) -> None:
    replies = [box.open() for box in workers(tmp_path, "def told(:\n", tier, 2)]
    assert [reply.status for reply in replies] == [CallStatus.RAISED] * 2
    assert {(reply.exception, reply.locations[0].line) for reply in replies} == {("SyntaxError", 1)}


OURS = ("wire", "worker", "suite", "planted", "submission", "harness", "helper")


@pytest.mark.parametrize("entry", ["answer.py", "a/b/answer.py", "wire.py", "worker.py"])
def test_its_modules_are_found_first(tmp_path, tier, entry):
    place = (tmp_path / entry).parent
    place.mkdir(parents=True, exist_ok=True)
    names = [name for name in OURS if f"{name}.py" != entry]
    for name in names:
        (place / f"{name}.py").write_text("MINE = 1\n")
    (tmp_path / entry).write_text(
        f"import {', '.join(names)}\ndef total(): return sum([{', '.join(f'{n}.MINE' for n in names)}])\n"
    )
    with WorkerSession(WorkerSpec(tmp_path, entry, ("total",), Limits(), tier)) as box:
        reply = box.open()
        assert (reply.status, reply.value) == (CallStatus.RETURNED, ["total"]), reply.text
        assert box.call("total", returns=Scalar(int)).value == len(names)


def test_a_module_of_ours_is_not_shadowed(tmp_path, tier):
    (tmp_path / "answer.py").write_text("import planted\ndef ask(f): return f()\n")
    (tmp_path / "planted.py").write_text("def right(): return False\n")
    with WorkerSession(WorkerSpec(tmp_path, "answer.py", ("ask",), Limits(), tier)) as box:
        box.open()
        box.load("planted", "def right(): return True\n")
        assert box.call("ask", RemoteFunction("planted", "right"), returns=Scalar(bool)).value is True
