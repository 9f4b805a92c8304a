"""What a process started is ended to the last one: those below its children, and those started while it is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.sandbox.accounting import process_stats
from harness.sandbox.confinement import spawning
from tests.sandbox.fenced import BOOT

DEPTH = 6
KEEPER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import descendants

def deep():
    # each is the parent of the next, in a session of its own, and waits
    for _ in range(DEPTH):
        if os.fork():
            break
        os.setsid()
    time.sleep(300)

def renewing():
    # each child starts the next and ends: whoever is killed has most likely been replaced; ends by itself at last
    end = time.monotonic() + 30
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < end and os.fork() == 0:
            pass
        os._exit(0)
    time.sleep(300)

print("ready", flush=True)
descendants.keep({"deep": deep, "renewing": renewing}[sys.argv[2]], os.getppid(), ())
""".replace("DEPTH", str(DEPTH))


def mine(mark: str) -> list[int]:
    """Processes whose command line holds a mark, those that are forked from such a one included."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words, state = (
                (place / "cmdline").read_bytes(),
                (place / "stat").read_bytes().rpartition(b")")[2].split()[0],
            )
        except OSError:
            continue
        if mark.encode() in words and state != b"Z":
            found.append(int(place.name))
    return found


def left(mark: str, seconds: float = 3.0) -> list[int]:
    """Those that are still there after a while; killed, so that no test leaves any."""
    deadline = time.monotonic() + seconds
    while (found := mine(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for _ in range(1000):
        if not (again := mine(mark)):
            break
        for pid in again:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    return found


@pytest.mark.parametrize("kind", ["deep", "renewing"])
def test_a_keeper_ends_whatever_its_command_started_and_still_starts(kind: str) -> None:
    mark = f"keeper-{kind}-{os.getpid()}"
    words = [sys.executable, "-I", "-S", "-c", KEEPER, str(BOOT), kind, mark]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout is not None and keeper.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 20
        wanted = DEPTH + 2 if kind == "deep" else 3
        while len(list(process_stats.descendants(keeper.pid))) < wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        keeper.terminate()
        assert keeper.wait(20) == 0
    assert left(mark) == []


def test_ending_a_process_ends_its_group() -> None:
    mark = f"group-{os.getpid()}"
    source = "import os, time; os.fork(); print('ready', flush=True); time.sleep(300)"
    process = spawning.spawn([sys.executable, "-I", "-S", "-c", source, mark], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        assert [process.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
        spawning.end(process)
    assert left(mark) == []
