"""Scratch space, threads and processes are bounded for each box, in every tier."""

import time

import pytest

from harness.sandbox import CallStatus, Nothing, run

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


@pytest.mark.slow
def test_a_bomb_of_processes_in_an_answers_own_tests_goes_off_inside(tmp_path, tier):
    (tmp_path / "bomb.py").write_text(BOMB)
    start = time.monotonic()
    done = run(["python", "bomb.py"], tmp_path, tier=tier, seconds=3, wall_seconds=5)
    assert done.returncode is None and time.monotonic() - start < 30
