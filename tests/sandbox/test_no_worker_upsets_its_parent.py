"""Whatever a worker does or sends is data to its parent, and a forged reply never counts."""

import subprocess
import threading
import time

import pytest

from harness.sandbox import CallStatus, Nothing, Scalar, Tree
from harness.sandbox.accounting.run_queue import RunQueue
from tests.reaching_in import REACHING_IN

SOURCE = """
import array, ctypes, os, socket, threading, time

call = ctypes.CDLL(None, use_errno=True).syscall
BYTES = (b"/proc/\\xc2\\xb2/status", b"/proc/" + b"9" * 4000, b"\\xff\\xfe", b"", b"x" * 5000, b"/proc/\\xd9\\xa3")

def opens_what_has_no_name():
    for address in (0, 1, -1, -4096, 1 << 47, (1 << 63) - 1, -(1 << 63), 0x7FFFFFFFFFFFF000):
        for number in (2, 257):
            call(number, ctypes.c_long(-100 if number == 257 else address), ctypes.c_long(address), 0)
    for name in BYTES:
        for place in (-100, -1, 3, 1 << 40, -(1 << 62)):
            call(257, ctypes.c_long(place), name, 0)

def opens_in_a_folder_without_letters():
    os.mkdir(b"\\xff\\x1b[31m")
    os.chdir(b"\\xff\\x1b[31m")
    for name in ("x", "../../y"):
        try:
            open(name)
        except OSError:
            pass
    os.rmdir(b"../\\xff\\x1b[31m")
    try:
        open("z")
    except OSError:
        pass

# left out: calls that wait, end or change this very thread, and those that close or fill the protocol's socket
LEFT_OUT = {0, 3, 7, 9, 10, 11, 12, 13, 14, 15, 23, 24, 25, 33, 34, 35, 45, 47, 48, 56, 57, 58, 59, 60, 61,
            127, 128, 130, 131, 158, 202, 218, 219, 230, 231, 232, 247, 270, 271, 273, 281, 288, 292, 299,
            322, 332, 334, 425, 435, 436, 437, 441, 449, 453, 455, 456, 462}

def calls_everything():
    for number in {*range(335), *range(424, 470)} - LEFT_OUT:
        call(ctypes.c_long(number), *(ctypes.c_long(-1) for _ in range(6)))

def floods():
    def forever():
        while True:
            call(41, 2, 1, 0)
            try:
                open(f"/somewhere/{time.monotonic_ns()}")
            except OSError:
                pass
    for _ in range(20):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(60)

def floods_after():
    def forever():
        while True:
            call(41, 2, 1, 0)
    threading.Thread(target=forever, daemon=True).start()

def small():
    return 1

def hangs_up():
    os.close(3)
    time.sleep(60)

def shuts():
    call(48, 3, 2)
    time.sleep(60)

def says_nothing():
    call(46, 3, bytes(56), 0)
    os.write(3, b"")

def sends_its_own_end():
    own = socket.socket(fileno=os.dup(3))
    own.sendmsg([b'{"id": 2, "value": null}'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [3, 0, 1, 2]))])
    os._exit(0)
"""


@pytest.mark.parametrize("deed", ["opens_what_has_no_name", "opens_in_a_folder_without_letters", "calls_everything"])
def test_strange_arguments_of_system_calls_are_no_error_of_ours(box, deed):
    assert box.call(deed, returns=Nothing(), seconds=20).alive
    assert box.call("small", returns=Scalar(int)).value == 1
    assert all(signal.detail.isprintable() for signal in box.signals)


def test_a_flood_of_refused_calls_holds_nobody_beyond_the_deadline(box):
    start = time.monotonic()
    assert box.call("floods", returns=Nothing(), seconds=1).status is CallStatus.TIMEOUT
    box.close()
    assert time.monotonic() - start < 8


def test_a_thread_that_floods_between_calls_delays_no_honest_reply(box):
    assert box.call("floods_after", returns=Nothing()).status is CallStatus.RETURNED
    time.sleep(0.2)
    for _ in range(20):
        assert box.call("small", returns=Scalar(int), seconds=5).value == 1


@pytest.mark.parametrize("deed", ["hangs_up", "shuts", "says_nothing", "sends_its_own_end"])
def test_a_socket_misused_ends_the_worker_at_once(box, deed):
    start = time.monotonic()
    assert box.call(deed, returns=Nothing(), seconds=30).status in (
        CallStatus.CRASHED,
        CallStatus.PROTOCOL_VIOLATION,
        CallStatus.RETURNED,
    )
    box.close()
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("value", "plan", "status"),
    [
        ("2**63 - 1", Scalar(int), CallStatus.RETURNED),
        ("10**400", Scalar(int), CallStatus.MALFORMED),
        ("[10**400]", Tree(0), CallStatus.MALFORMED),
        ("'x' * 40_000", Tree(0), CallStatus.RETURNED),
        ("'x' * 59_000", Tree(0), CallStatus.MALFORMED),
    ],
)
def test_only_what_can_be_reckoned_with_and_handed_back_crosses(opened, tier, value, plan, status):
    box = opened(f"def f(*a): return {value}\n")
    reply = box.call("f", returns=plan)
    assert reply.status is status
    if status is CallStatus.RETURNED:
        assert box.call("f", reply.value, returns=plan).status is CallStatus.RETURNED


def test_half_a_surrogate_pair_becomes_a_question_mark(opened, tier):
    box = opened("def f(): return '\\ud800 and \\U0001f600'\ndef g(): raise ValueError('\\udfff')\n")
    assert box.call("f", returns=Tree(0)).value == "? and \U0001f600"
    assert "ValueError: ?" in box.call("g", returns=Nothing()).text


HOSTILE_ERRORS = """
class Name(str):
    def __getitem__(self, part): return 'y' * 50_000
class Long(type):
    @property
    def __name__(cls): return Name('x')
class Ends(type):
    @property
    def __name__(cls): raise SystemExit(3)
class Odd(type):
    @property
    def __name__(cls): return [1]
def f(kind):
    class Error(BaseException, metaclass={'long': Long, 'ends': Ends, 'odd': Odd}[kind]):
        def __str__(self): raise self
    raise Error
"""


@pytest.mark.parametrize(
    ("kind", "status"),
    [("long", CallStatus.PROTOCOL_VIOLATION), ("ends", CallStatus.CRASHED), ("odd", CallStatus.PROTOCOL_VIOLATION)],
)
def test_an_error_that_hides_its_name_ends_the_worker(opened, tier, kind, status):
    assert opened(HOSTILE_ERRORS).call("f", kind, returns=Nothing()).status is status


@pytest.mark.parametrize(
    "message",
    [
        '{"id": 99, "value": 1.0}',
        '{"id": true, "value": 1.0}',
        '{"id": 3, "value": 1.0, "passed": true}',
        '{"id": 3}',
        '{"id": 3, "raised": ["ValueError"]}',
        "[2]",
        "no json",
        "[" * 50_000,
        "9" * 59_000,
    ],
)
def test_a_reply_of_another_form_ends_the_worker(opened, tier, message):
    source = REACHING_IN + f"def f():\n    control().send({message!r}.encode())\n    import time; time.sleep(5)\n"
    box = opened(source)
    assert box.call("f", returns=Scalar(float)).status is CallStatus.PROTOCOL_VIOLATION
    assert box.call("f", returns=Scalar(float)).status is CallStatus.CRASHED


def test_a_reply_sent_before_its_request_is_seen(opened, tier):
    source = (
        REACHING_IN
        + """
import threading, time
def early():
    time.sleep(0.05)
    control().send(b'{"id": 4, "value": 1.0}')
def f():
    threading.Thread(target=early).start()
"""
    )
    box = opened(source)
    assert box.call("f", returns=Nothing()).status is CallStatus.RETURNED
    time.sleep(0.3)
    second = box.call("f", returns=Scalar(float))
    assert second.status is CallStatus.PROTOCOL_VIOLATION and "without being asked" in second.text


def test_file_descriptors_sent_along_are_refused(opened, tier):
    source = REACHING_IN + (
        "def f():\n    fds = array.array('i', [1])\n"
        '    control().sendmsg([b\'{"id": 3, "value": 1.0}\'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])\n'
        "    import time; time.sleep(5)\n"
    )
    assert opened(source).call("f", returns=Scalar(float)).status is CallStatus.PROTOCOL_VIOLATION


ENDS = 500
"""Processes that end while they are read: enough that some end between two steps of a reading."""


def test_waiting_times_are_read_while_processes_end():
    here = RunQueue()
    assert here.seconds(2**22 + 1) >= 0  # above the largest process id
    here.close()
    for _ in range(ENDS):
        process = subprocess.Popen(["true"])
        reaped = threading.Event()
        reaper = threading.Thread(target=lambda p=process, done=reaped: (p.wait(), done.set()))
        reaper.start()
        queue = RunQueue()
        while not reaped.is_set():
            assert queue.seconds(process.pid) >= 0
        queue.close()
        reaper.join()
