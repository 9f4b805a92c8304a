"""A function that an answer is given runs where the answer reaches nothing: there its calls are counted and bounded."""

import time

import pytest

from harness.model import SignalKind
from harness.sandbox import CallStatus, InputUse, Nothing, Scalar, ServedFunction, Tier, Tree

SOURCE = """
import numpy as np

def doubling(offset):
    def double(values):
        if not isinstance(values, (list, np.ndarray)):
            raise ValueError(f"values is {values!r:.60}, not a list")
        return 2.0 * np.asarray(values, dtype=float) + offset
    return double

def naming():
    return lambda: ["a", (1, 2)]
"""
DOUBLE = ServedFunction("double", SOURCE, "doubling", (1.0,), {"width": 3}, most=50)


FLOAT = Scalar(float)


@pytest.fixture
def held(tier):
    if tier is Tier.UNSAFE:
        pytest.skip("a bare process holds nothing back")


def ask(box, function, *more, returns=FLOAT, **options):
    return box.call(function, DOUBLE, *more, returns=returns, **options)


def test_the_answer_calls_it_and_sees_its_attributes(opened, tier):
    box = opened("def f(double):\n    return float(double([1, 2]).sum() + double(values=[3]).item() + double.width)\n")
    reply = ask(box, "f")
    assert (reply.value, reply.served["double"].calls, reply.served["double"].fault) == (18.0, 2, "")


def test_several_functions_are_served_to_one_call(opened, tier):
    box = opened("def f(double, name):\n    return [name()[0], *name()[1], double([2]).item()]\n")
    reply = box.call("f", DOUBLE, ServedFunction("name", SOURCE, "naming"), returns=Tree(0))
    assert reply.value == ["a", 1, 2, 5.0]
    assert {name: use.calls for name, use in reply.served.items()} == {"double": 1, "name": 2}


@pytest.mark.parametrize("rubbish", ["None", "3.5", "(n for n in [1])", "{'a': object()}", "print", "'x' * 300_000"])
def test_rubbish_is_told_with_what_was_passed(opened, tier, rubbish):
    """Whether or not the answer catches what is raised."""
    box = opened(f"def f(double):\n    try:\n        double({rubbish})\n    except ValueError:\n        return 1.0\n")
    use = ask(box, "f").served["double"]
    assert use.calls == 1
    assert "call 1: " in use.fault and len(use.fault) <= 300, use
    assert "at most 160,000 can be passed" in use.fault if "x" in rubbish else "not a list" in use.fault
    assert ask(opened("def f(double):\n    return double([1]).item()\n"), "f").value == 3.0


def test_what_is_raised_names_the_arguments_and_the_place(opened, tier):
    reply = ask(opened("def f(double):\n    return double(None)\n"), "f")
    assert reply.status is CallStatus.RAISED
    assert "`double` refuses its arguments: values is None, not a list (answer.py:2)" in reply.text


def test_the_count_is_not_the_answers_to_change(opened, tier):
    """It finds no count in the stub, what it writes to the socket counts, and a lie in its reply is no reply."""
    source = """
def f(double):
    for name in dir(double):
        try:
            setattr(double, name, 0 if name in ("calls", "fault", "most") else getattr(double, name))
        except Exception:
            pass
    double.calls, double.fault = 0, ""
    raw = double._link._socket
    for message in (b"no message", b"\\xff\\xff\\xff\\xff{}", b"\\x02\\0\\0\\0[]", b"\\x04\\0\\0\\0null"):
        raw.send(message)
        raw.recv(1000)
    return double([1]).item()
"""
    box = opened(source)
    use = ask(box, "f").served["double"]
    assert (use.calls, use.fault.partition(":")[0]) == (5, "call 1")


def test_a_call_after_the_end_reaches_nothing(opened, tier):
    """Neither from a thread that goes on, nor from a later call that is given a function of its own."""
    source = """
import threading, time
kept, said = [], []
def keep(double):
    kept.append(double)
    threading.Thread(target=later, daemon=True).start()
    return double([1]).item()
def later():
    time.sleep(0.2)
    try:
        kept[0]([1])
    except RuntimeError as error:
        said.append(str(error))
def use(double):
    try:
        kept[0]([1])
    except RuntimeError as error:
        said.append(str(error))
    return double([2]).item()
def told():
    return said
"""
    box = opened(source)
    assert ask(box, "keep").served["double"].calls == 1
    time.sleep(0.4)
    second = ask(box, "use")
    assert (second.value, second.served["double"].calls) == (5.0, 1)
    said = box.call("told", returns=Tree(0)).value
    assert len(said) == 2 and all("after the call that it was passed to has ended" in words for words in said)


MEMOS = """
import functools, weakref

by_id, held, weak = {}, {}, weakref.WeakKeyDictionary()

def by_address(double):
    return by_id.setdefault(id(double), double([1]).item() + double.width)

def holding(double):
    return held.setdefault(id(double), (double, double([1]).item() + double.width))[1]

@functools.lru_cache
def cached(double):
    return double([1]).item() + double.width

def weakly(double):
    return weak.setdefault(double, double([1]).item() + double.width)
"""


@pytest.mark.parametrize(
    ("memo", "told"), [("by_address", [6, 6]), *((m, [6, 11]) for m in ("holding", "cached", "weakly"))]
)
def test_an_address_is_used_again_once_the_answer_holds_the_function_no_longer(opened, tier, memo, told):
    """As a caller's next object has that of the one before: what remembers by `id` without holding it is wrong."""
    box = opened(MEMOS)
    other = ServedFunction("double", SOURCE, "doubling", (5.0,), {"width": 4}, most=50)
    assert [box.call(memo, given, returns=FLOAT).value for given in (DOUBLE, other)] == told


@pytest.mark.usefixtures("held")
def test_a_fork_is_refused_and_counts_nothing(opened, tier):
    source = """
import os
def f(double):
    try:
        if os.fork() == 0:
            double([1])
            os._exit(0)
    except OSError:
        pass
    return double([2]).item()
"""
    box = opened(source)
    reply = ask(box, "f")
    assert (reply.value, reply.served["double"].calls) == (5.0, 1)
    assert SignalKind.SYSTEM_CALL in {signal.kind for signal in box.signals}


def test_it_answers_no_more_calls_than_it_may(opened, tier):
    """An answer that goes on asking is ended by its time, and what it did is known."""
    source = """
def f(double):
    while True:
        try:
            double([1])
        except RuntimeError:
            pass
"""
    reply = ask(opened(source, call_seconds=1), "f")
    assert reply.status is CallStatus.TIMEOUT
    assert reply.served["double"].exhausted and reply.served["double"].calls > 50


def test_whoever_takes_no_reply_keeps_nobody_waiting(opened, tier):
    source = """
def f(double):
    raw = double._link._socket
    raw.setblocking(False)
    request = b'\\x15\\0\\0\\0["double",[[1,2]],{}]'
    for _ in range(100_000):
        try:
            raw.send(request)
        except OSError:
            break
    return 1.0
"""
    start = time.perf_counter()
    assert ask(opened(source), "f").status is CallStatus.RETURNED
    assert time.perf_counter() - start < 20


@pytest.mark.usefixtures("held")
def test_the_process_that_serves_is_closed_to_the_answer(opened, tier):
    """It can neither be traced, nor read, nor signalled, and no descriptor of its or of the parent's is left open."""
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def attack(double, others):
    return [what for pid in {*others} - {int(os.readlink("/proc/self"))} for what in reached(pid)]
def reached(pid):
    said = []
    for path in (f"/proc/{pid}/mem", f"/proc/{pid}/maps", f"/proc/{pid}/environ", f"/proc/{pid}/fd/3"):
        try:
            open(path, "rb").read(1)
            said.append(path)
        except OSError:
            pass
    if libc.ptrace(16, pid, None, None) == 0:
        said.append("traced")
    for number in (0, 9):
        try:
            os.kill(pid, number)
            said.append("signalled")
        except OSError:
            pass
    return said
def open_files(double):
    found = []
    for fd in range(3, 64):
        try:
            os.fstat(fd)
            found.append(fd)
        except OSError:
            pass
    return len(found)
"""
    box = opened(source)
    assert ask(box, "attack", [], returns=Tree(0)).status is CallStatus.RETURNED
    # in a namespace of its own it has a small number, if any
    reply = ask(box, "attack", [box._server.pid, *range(1, 20)], returns=Tree(0))
    assert (reply.value, reply.status) == ([], CallStatus.RETURNED)
    assert ask(box, "open_files", returns=Scalar(int)).value == 3  # the parent's socket, the stubs', the call's output


def test_its_arrays_may_be_read_only(opened, tier):
    box = opened("def f(double):\n    double([1])[0] = 5.0\n    return 1.0\n")
    assert ask(box, "f").value == 1.0
    reply = ask(box, "f", inputs=InputUse.READ_ONLY)
    assert reply.status is CallStatus.RAISED and "read-only" in reply.text


def test_an_answer_that_dies_leaves_it_ready_for_the_next(opened, tier):
    dying = "import os\ndef f(double):\n    double([1])\n    os._exit(3)\ndef g():\n    pass\n"
    box = opened(dying)
    reply = ask(box, "f", returns=Nothing())
    assert (reply.status, reply.served["double"].calls) == (CallStatus.CRASHED, 1)
    assert not reply.served["double"].fault
