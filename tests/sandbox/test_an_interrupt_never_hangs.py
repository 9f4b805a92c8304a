"""A process interrupted at any moment of starting a worker ends by itself, and so does what it started."""

import os
import subprocess
import sys

import pytest

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


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=SECONDS)


def test_the_thread_that_starts_processes_holds_nobody_back():
    assert "KeyboardInterrupt" in run(INTERRUPTED_WHILE_THE_THREAD_STARTS).stderr


def test_what_was_being_started_is_ended():
    ended = run(INTERRUPTED_WHILE_THE_PROCESS_STARTS)
    assert "KeyboardInterrupt" in ended.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(ended.stdout), 0)
