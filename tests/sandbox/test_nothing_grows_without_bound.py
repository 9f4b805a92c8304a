"""Scratch space, threads and processes are bounded for each box, in every tier."""

import subprocess
import sys
import threading
import time

import pytest

from harness.model import Tier
from harness.sandbox import CallStatus, Nothing, Scalar, run
from harness.sandbox.accounting import process_stats

GROWING = """
import os, threading, time
def fills():
    for number in range(100):
        with open(f"{os.environ['TMPDIR']}/{number}", "wb", 0) as file:
            for _ in range(3):
                file.write(bytes(1 << 20))
        time.sleep(0.01)
def threads():
    threading.stack_size(32 << 10)
    for _ in range(20_000):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
def nests():
    for _ in range(3000):
        os.mkdir("a")
        os.chdir("a")
    time.sleep(1)
def modest():
    for number in range(3):
        with open(f"{os.environ['TMPDIR']}/{number}", "wb", 0) as file:
            file.write(bytes(1 << 20))
    others = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(8)]
    for other in others: other.start()
    for other in others: other.join()
"""
BOMB = """
import os, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
    except OSError:
        time.sleep(0.01)
"""


@pytest.mark.parametrize("function", ["fills", "threads", "nests"])
def test_a_box_that_grows_is_stopped(opened, tier, function):
    box = opened(GROWING, scratch_mib=8, memory_mib=2048)
    assert box.call(function, returns=Nothing(), seconds=20).status in (
        CallStatus.RAISED,
        CallStatus.RESOURCE_LIMIT,
        CallStatus.CRASHED,
    )


def test_modest_use_is_left_in_peace(opened, tier):
    assert opened(GROWING, scratch_mib=8).call("modest", returns=Nothing()).status is CallStatus.RETURNED


def test_a_bomb_of_processes_in_an_answers_own_tests_goes_off_inside(tmp_path, tier):
    (tmp_path / "bomb.py").write_text(BOMB)
    start = time.monotonic()
    done = run(["python", "bomb.py"], tmp_path, tier=tier, seconds=3, wall_seconds=5)
    assert done.returncode is None and time.monotonic() - start < 30


THREADS = 64
"""So many a worker may have, the first one included."""
CHAIN = """
import threading
go, full = threading.Event(), threading.Event()
def bomb():
    threading.stack_size(32 << 10)
    try:
        for _ in range(5000):
            threading.Thread(target=go.wait, args=(30,), daemon=True).start()
    except RuntimeError:  # can't start new thread
        return threading.active_count()
    return 5000
def swarm():
    threading.stack_size(32 << 10)
    def breed():
        try:
            while not full.is_set():
                threading.Thread(target=breed, daemon=True).start()
        except RuntimeError:
            full.set()
        go.wait(1)
    breed()
"""


def most_threads(box, function: str, **how) -> tuple[object, int]:
    """What a call comes to, and the most threads that its worker was seen to have meanwhile."""
    seen, ended = [0], threading.Event()

    def look(pid: int) -> None:
        while not ended.is_set():
            seen.append(process_stats.threads(pid))
            time.sleep(0.001)

    watcher = threading.Thread(target=look, args=(box.pid,))
    watcher.start()
    try:
        return box.call(function, seconds=20, **how), max(seen)
    finally:
        ended.set()
        watcher.join()


@pytest.mark.parametrize(("rounds", "busy"), [(1, 0), (3, 4)])
def test_no_luck_is_needed_to_bound_threads(opened, tier, rounds, busy):
    """The bound holds before a thread starts, however late whoever watches comes to look on a busy machine."""
    if tier is Tier.UNSAFE:
        pytest.skip("promises nothing: threads are watched")
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        for _ in range(rounds):
            with opened(CHAIN) as box:
                reply, most = most_threads(box, "bomb", returns=Scalar(int))
            assert reply.status is CallStatus.RETURNED and 8 < reply.value <= THREADS and most <= THREADS
            with opened(CHAIN) as box:
                _, most = most_threads(box, "swarm", returns=Nothing())
            assert 8 < most < 2 * THREADS
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
