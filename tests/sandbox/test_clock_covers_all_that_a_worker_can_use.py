"""The clock of a call starts before the worker can see an input byte and stops when no output byte can change."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from harness.sandbox import Array, CallStatus, Nothing, Scalar, WorkerSession
from harness.sandbox.accounting import process_stats
from harness.sandbox.session.memory_file import MemoryFile
from harness.timing import clock
from tests.reaching_in import REACHING_IN

WATCH = """
import os, threading, time

seen = []

def watch(known):
    # what arrives as a descriptor that was not there before is the input of the next call
    while not seen:
        for fd in range(3, 64):
            if fd in known:
                continue
            try:
                if os.fstat(fd).st_size == SIZE:
                    seen.append(time.perf_counter())
                    break
            except OSError:
                pass

def descriptors():
    found = set()
    for fd in range(64):
        try:
            os.fstat(fd)
            found.add(fd)
        except OSError:
            pass
    return found

def start():
    threading.Thread(target=watch, args=(descriptors(),), daemon=True).start()

def f(x):
    while not seen:
        time.sleep(0.001)
    return seen[0]
"""
SIZE = 8_000_000


def spied(box: WorkerSession) -> list[float]:
    """Moments right before a request of the box is on its way."""
    worker, sent = box._worker, []
    assert worker is not None
    channel = worker.channel
    send = channel.send

    def spy(message, fds):
        sent.append(clock.now())
        return send(message, fds)

    channel.send = spy
    return sent


def test_a_thread_that_spins_for_the_input_sees_it_only_when_the_clock_runs(opened, tier):
    box = opened(WATCH.replace("SIZE", str(SIZE)), "start", "f")
    assert box.call("start", returns=Nothing()).status is CallStatus.RETURNED
    sent = spied(box)
    reply = box.call("f", np.ones(SIZE // 8), returns=Scalar(float))
    finished = clock.now()
    assert reply.status is CallStatus.RETURNED
    # one clock for all processes of the machine: CLOCK_MONOTONIC
    assert sent[-1] <= reply.value <= finished
    assert reply.seconds >= reply.value - sent[-1]


REPLY_FIRST = (
    REACHING_IN
    + """
def f(x):
    reply_first(x)
    time.sleep(0.05)
    try:
        os.pwrite(served()["fds"][-1], (2 * x).tobytes(), 0)
    except OSError:
        pass
    return 2 * x
"""
)


def test_a_reply_before_the_work_brings_none_of_it(opened, tier):
    box = opened(REPLY_FIRST, "f")
    reply = box.call("f", np.ones(8), returns=Array((8,), "float64"))
    assert reply.status is not CallStatus.RETURNED or not reply.value.any()
    # what it says when it is done answers no request
    assert box.call("f", np.ones(8), returns=Array((8,), "float64")).status is not CallStatus.RETURNED


SLOW_WRITER = """
import time

def f(x, seconds):
    time.sleep(seconds)
    return x
"""


def test_a_call_takes_at_least_as_long_as_its_work(opened, tier):
    box = opened(SLOW_WRITER, "f")
    reply = box.call("f", np.ones(8), 0.05, returns=Array((8,), "float64"))
    assert reply.seconds >= 0.05
    assert reply.processor < reply.seconds


DELAY = 0.05


def test_the_clock_runs_before_a_request_is_on_its_way(opened, tier, monkeypatch):
    box = opened("def f(x): return x", "f")
    channel = box._worker.channel
    send = channel.send

    def slow(message, fds):
        sent = send(message, fds)
        time.sleep(DELAY)
        return sent

    monkeypatch.setattr(channel, "send", slow)
    assert box.call("f", np.ones(8), returns=Array((8,), "float64")).seconds >= DELAY


def test_the_clock_runs_until_no_output_byte_can_change(opened, tier, monkeypatch):
    box = opened("def f(x): return x", "f")
    freeze = MemoryFile.freeze

    def slow(file):
        time.sleep(DELAY)
        freeze(file)

    monkeypatch.setattr(MemoryFile, "freeze", slow)
    assert box.call("f", np.ones(8), returns=Array((8,), "float64")).seconds >= DELAY


BURNING = """
import time

def f(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
"""


def test_processor_time_is_read_from_outside(opened, tier):
    box = opened(BURNING, "f")
    reply = box.call("f", 0.1, returns=Nothing())
    assert 0.1 <= reply.processor <= reply.seconds + 0.01  # one thread, and a tick of the kernel's clock


ALLOCATOR = """
import os
import numpy as np

def settings():
    return int(os.environ["MALLOC_MMAP_THRESHOLD_"] == os.environ["MALLOC_TRIM_THRESHOLD_"] == str(1 << 32))

def f(x):
    return 2 * x + 1
"""


def test_memory_is_faulted_in_once_not_in_every_call(opened, tier):
    """Two temporaries and an input of a megabyte each are 768 pages of 4 KiB; with them kept, hardly any is new."""
    box = opened(ALLOCATOR, "settings", "f")
    assert box.call("settings", returns=Scalar(int)).value == 1
    x = np.ones(1 << 17)
    faults = []
    for _ in range(12):
        before = process_stats.page_faults(box.pid)
        assert box.call("f", x, returns=Array(x.shape, "float64")).status is CallStatus.RETURNED
        faults.append(process_stats.page_faults(box.pid) - before)
    assert sorted(faults[2:])[5] < 77


THREADED = """
import os, threading

def started():
    cores = []
    thread = threading.Thread(target=lambda: cores.append(len(os.sched_getaffinity(0))))
    thread.start()
    thread.join()
    return cores[0]
"""


def test_a_pinned_worker_and_its_threads_have_one_core(opened, tier):
    box = opened(THREADED, "started")
    core = max(os.sched_getaffinity(0))
    assert clock.pin(box.pid, core)
    assert os.sched_getaffinity(box.pid) == {core}
    assert box.call("started", returns=Scalar(int)).value == 1


def test_a_clock_of_a_process_that_is_gone_says_so():
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    for read in (process_stats.page_faults, process_stats.processor_seconds, process_stats.resident_bytes):
        with pytest.raises(ProcessLookupError):
            read(process.pid)
    assert not clock.pin(process.pid, 0)
