"""Whatever a worker does with system calls, files and its socket is data to its parent, and never takes over time."""

import time

import pytest

from harness.sandbox import CallStatus, Nothing, Scalar

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
