"""Waiting for a worker costs nothing and ends: with its output closed, and when it has stopped itself."""

import time

from harness.sandbox import CallStatus, Nothing

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
