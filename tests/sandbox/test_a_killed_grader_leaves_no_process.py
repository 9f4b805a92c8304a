"""A grader that is killed or interrupted, at whatever moment, leaves no process."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness.model import Limits
from harness.sandbox import CallStatus, Nothing, Tier, WorkerSession, WorkerSpec, run
from tests import shares

WORK = {
    "a worker that hangs": """
        with WorkerSession(WorkerSpec(folder, "answer.py", ("hang",), Limits(), tier)) as box:
            box.open()
            box.call("hang", returns=Nothing(), seconds=60)
    """,
    "a command with a daemon": """
        run(["python", "command.py"], folder, tier=tier, seconds=60)
    """,
    "workers one after the other": """
        fork_server = start_fork_server(WorkerSpec(folder, "answer.py", ("hang",), Limits(), tier))
        while True:
            with WorkerSession(WorkerSpec(folder, "answer.py", ("hang",), Limits(), tier), fork_server) as box:
                box.open()
    """,
}
FILES = {
    "answer.py": """
        import signal, time
        def hang():
            while True:
                time.sleep(0.01)
    """,
    # leaves the session and the process group of whoever started it, and is nobody's child
    "command.py": """
        import os, signal, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(300)
        time.sleep(300)
    """,
}
GRADER = """
import sys
from pathlib import Path
from harness.sandbox import WorkerSession, Nothing, WorkerSpec, Tier, run, start_fork_server
from harness.model import Limits
folder, tier = Path(sys.argv[1]), Tier(sys.argv[2])
print("ready", flush=True)
"""
# adopts all that a killed grader leaves behind, so that it can be counted
WATCHER = """
import ctypes, json, os, signal, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1)
moments, command = json.loads(sys.argv[1]), sys.argv[2:]
for moment in moments:
    grader = subprocess.Popen(command, stdout=subprocess.PIPE)
    grader.stdout.readline()
    time.sleep(moment)
    grader.kill()
    grader.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.02)
        except ChildProcessError:
            break
    else:
        left = open(f"/proc/self/task/{os.getpid()}/children").read().split()
        lines = [open(f"/proc/{pid}/cmdline").read().replace(chr(0), " ")[-200:] for pid in left]
        for pid in left:
            os.kill(int(pid), signal.SIGKILL)
        print("after", moment, "s run on:", *lines)
"""
TRIES = 4 if shares.everything() else 2
LONGEST = 1.5
"""Seconds: what is opened here is open by then, and earlier moments fall into its opening."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    return tmp_path


@pytest.mark.parametrize("work", WORK)
def test_nothing_survives_the_grader(folder, tier, work):
    moments = [random.Random(f"{shares.seed()} {tier} {work}").uniform(0, LONGEST) for _ in range(TRIES)]
    command = [sys.executable, "-c", GRADER + textwrap.dedent(WORK[work]), str(folder), tier]
    watcher = [sys.executable, "-c", WATCHER, json.dumps(moments), *command]
    done = subprocess.run(watcher, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == ""


def named(name: str) -> list[int]:
    """Processes that gave themselves a name, wherever they are."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().strip() == name:
                found.append(int(process.name))
        except OSError:
            continue
    return found


def gone(name: str) -> bool:
    """Whether none of that name is left, or will be in a moment: the kernel ends them one after the other."""
    deadline = time.monotonic() + 5
    while named(name):
        if time.monotonic() > deadline:
            for pid in named(name):
                os.kill(pid, signal.SIGKILL)
            return False
        time.sleep(0.01)
    return True


DAEMON = """
import ctypes, os, sys, time

def name(text):
    ctypes.CDLL(None).prctl(15, text.encode())

def daemon(text):
    try:
        if os.fork():
            return
    except PermissionError:
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    name(text)
    time.sleep(300)
    os._exit(0)

def chain(text):
    if os.fork():
        return
    os.setsid()
    name(text)
    while True:
        if os.fork():
            os._exit(0)
"""


@pytest.mark.parametrize("kind", ["daemon", "chain"])
def test_what_a_command_leaves_behind_ends_with_it(folder, tier, kind):
    # a chain is never there when it is looked for: each link forks the next and ends
    name = f"h{os.getpid()}{kind}"
    (folder / "daemon.py").write_text(DAEMON + f"{kind}({name!r})\ntime.sleep(0.3)\n")
    assert run(["python", "daemon.py"], folder, tier=tier, seconds=20).returncode == 0
    assert gone(name)


def test_what_a_worker_leaves_behind_ends_with_it(folder, tier):
    name = f"h{os.getpid()}worker"
    (folder / "answer.py").write_text(DAEMON)
    with WorkerSession(WorkerSpec(folder, "answer.py", ("daemon",), Limits(), tier)) as box:
        assert box.open().status is CallStatus.RETURNED
        assert box.call("daemon", name, returns=Nothing()).status is CallStatus.RETURNED
        time.sleep(0.3)
        assert bool(named(name)) == (tier is Tier.UNSAFE)  # where the fence stands nothing is forked at all
    assert gone(name)


INTERRUPTED_WHILE_THE_THREAD_STARTS = """
import threading
from harness.sandbox.confinement.spawning import spawn

start = threading.Thread.start
def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt

threading.Thread.start = interrupted
spawn(["sleep", "600"])
"""
INTERRUPTED_WHILE_THE_PROCESS_STARTS = """
import signal, subprocess, threading, time
from harness.sandbox.confinement.spawning import spawn

# a shell starts what runs in the background with this signal ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
start = subprocess.Popen.__init__
def interrupted(process, *args, **options):
    start(process, *args, **options)
    print(process.pid, flush=True)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    time.sleep(0.5)

subprocess.Popen.__init__ = interrupted
spawn(["sleep", "600"])
"""
SECONDS = 20
"""An import and two processes take one second; what hangs never ends."""


def run_script(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=SECONDS)


def test_the_thread_that_starts_processes_holds_nobody_back():
    assert "KeyboardInterrupt" in run_script(INTERRUPTED_WHILE_THE_THREAD_STARTS).stderr


def test_what_was_being_started_is_ended():
    ended = run_script(INTERRUPTED_WHILE_THE_PROCESS_STARTS)
    assert "KeyboardInterrupt" in ended.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(ended.stdout), 0)
