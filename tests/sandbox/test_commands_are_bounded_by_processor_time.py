"""A command is ended by the processor time of all it starts, whatever else the machine does, and says so in a field."""

import os
import subprocess
import sys
import time

import pytest

from harness.sandbox import CommandLimit, run
from harness.sandbox.accounting import process_stats

SPIN = "while True: pass"
FORKING = """
import os
for _ in range(2):
    if os.fork() == 0:
        break
while True: pass
"""
IN_TURNS = """
import os, time
for _ in range(100):
    child = os.fork()
    if child == 0:
        end = time.process_time() + 0.1
        while time.process_time() < end: pass
        os._exit(0)
    os.waitpid(child, 0)
"""
WORKING = """
import time
end = time.process_time() + 0.6
while time.process_time() < end: pass
"""


@pytest.mark.parametrize("source", [SPIN, FORKING, IN_TURNS], ids=["spins", "forks", "forks in turns"])
def test_work_is_ended_by_its_processor_time(tmp_path, tier, source):
    done = run(["python", "-c", source], tmp_path, tier=tier, seconds=0.5, wall_seconds=120)
    assert (done.exceeded, done.returncode, done.timed_out) == (CommandLimit.PROCESSOR_TIME, None, True)
    # the watch looks again within a tenth of a second, and later where it waits for a processor itself
    assert 0.5 <= done.processor_seconds < 5


def test_a_busy_machine_ends_no_command_early(tmp_path, tier):
    """Beside four busy loops a core a command takes longer by the wall than its processor time allows, and may."""
    cores = len(os.sched_getaffinity(0))
    # each in a session of its own, as the command is: the kernel may share the processor among sessions
    hogs = [subprocess.Popen([sys.executable, "-c", SPIN], start_new_session=True) for _ in range(4 * cores)]
    try:
        done = run(["python", "-c", WORKING], tmp_path, tier=tier, seconds=0.9)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert (done.returncode, done.exceeded) == (0, None)
    # a process tree is read in the kernel's ticks of 0.01 s, user and system time each rounded down
    assert 0.57 <= done.processor_seconds <= 0.9 < done.seconds


def test_waiting_is_ended_by_the_wall_clock_with_little_processor_time_used(tmp_path, tier):
    done = run(["python", "-c", "import time; time.sleep(60)"], tmp_path, tier=tier, seconds=0.5, wall_seconds=1.5)
    assert (done.exceeded, done.returncode, done.timed_out) == (CommandLimit.WALL_CLOCK, None, True)
    assert done.processor_seconds < 0.5 and 1.5 <= done.seconds < 6


def test_processor_time_of_a_command_that_ends_is_known(tmp_path, tier):
    done = run(["python", "-c", WORKING], tmp_path, tier=tier, seconds=30)
    assert (done.returncode, done.exceeded) == (0, None)
    assert 0.55 <= done.processor_seconds < 1.2


def test_what_a_process_waited_for_still_counts_and_nothing_counts_twice():
    program = IN_TURNS.replace("100", "5") + "\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", program]) as process:
        meter = process_stats.ProcessTreeMeter(process.pid)
        begun = time.monotonic()
        seconds = [meter.seconds()]
        while seconds[-1] < 0.45 and time.monotonic() < begun + 60:
            time.sleep(0.01)
            seconds.append(meter.seconds())
        time.sleep(0.2)
        seconds.append(meter.seconds())
        process.kill()
    assert seconds == sorted(seconds)
    assert 0.45 <= seconds[-1] < 0.8
