"""A worker that hangs, dies, floods or eats memory ends in bounded time; waiting for one costs nothing."""

import time

import pytest

from harness.sandbox import CallStatus, CommandLimit, Nothing, run

BAD = """
import ctypes, os, signal, sys, time
def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True: time.sleep(1)
def leave(): os._exit(0)
def crash(): ctypes.string_at(0)
def flood():
    while True: os.write(1, b'x' * 65536)
def eat():
    hoard = []
    while True: hoard.append(bytearray(1 << 26))
"""


@pytest.mark.parametrize(
    ("function", "status", "words"),
    [
        ("hang", CallStatus.TIMEOUT, "no answer within 1 s"),
        ("leave", CallStatus.CRASHED, "status 0"),
        ("crash", CallStatus.CRASHED, "signal 11"),
        ("flood", CallStatus.OUTPUT_LIMIT, "1 MiB"),
        ("eat", CallStatus.RAISED, "MemoryError"),
    ],
)
def test_the_end_is_named(opened, tier, function, status, words):
    box = opened(BAD, memory_mib=1024)
    start = time.monotonic()
    reply = box.call(function, returns=Nothing(), seconds=10 if function == "eat" else 1)
    assert (reply.status, time.monotonic() - start < 15) == (status, True)
    assert words in reply.text


def test_a_submission_that_does_not_load_says_why(tmp_path, tier):
    from harness.model import Limits
    from harness.sandbox import WorkerSession, WorkerSpec

    for source, words in (
        ("import nothing_like_this", "nothing_like_this"),
        ("def f(:", "SyntaxError"),
        ("import os; os._exit(7)", "status 7"),
        ("raise SystemExit(0)", "SystemExit"),
        ("while True: pass", "no answer"),
    ):
        (tmp_path / "answer.py").write_text(source)
        with WorkerSession(WorkerSpec(tmp_path, "answer.py", (), Limits(start_seconds=2.0), tier)) as box:
            reply = box.open()
        assert reply.status is not CallStatus.RETURNED and words in reply.text, source


def test_a_command_that_hangs_or_floods_is_killed(tmp_path, tier):
    sleeper = ["python", "-c", "import time; time.sleep(60)"]
    hung = run(sleeper, tmp_path, tier=tier, seconds=1, wall_seconds=1)
    assert hung.exceeded is CommandLimit.WALL_CLOCK and hung.returncode is None and hung.seconds < 5
    flooded = run(["python", "-c", "while True: print('x' * 9999)"], tmp_path, tier=tier, seconds=20)
    assert flooded.exceeded is CommandLimit.OUTPUT and flooded.seconds < 15
    quiet = run(
        ["python", "-c", "import os; os.write(3, b'told'); raise SystemExit(4)"], tmp_path, tier=tier, seconds=10
    )
    assert (quiet.returncode, quiet.report) == (4, b"told")


SOURCE = """
import ctypes, os, signal, threading, time

def closes_its_output():
    os.close(1)
    os.close(2)
    time.sleep(1)

def stops_itself():
    ctypes.CDLL(None).syscall(234, os.getpid(), threading.get_native_id(), int(signal.SIGSTOP))
    time.sleep(60)
"""


def test_a_closed_output_is_not_looked_at_again_and_again(box):
    # a pipe at its end is always ready to be read: a loop that selects on it spins
    before = time.process_time()
    assert box.call("closes_its_output", returns=Nothing(), seconds=20).status is CallStatus.RETURNED
    assert time.process_time() - before < 0.4


def test_a_worker_that_has_stopped_is_ended(box):
    # a stopped process takes no signal but one, and says nothing
    start = time.monotonic()
    assert box.call("stops_itself", returns=Nothing(), seconds=1).status is CallStatus.TIMEOUT
    box.close()
    assert time.monotonic() - start < 15
