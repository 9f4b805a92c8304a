"""A grading process that is asked to leave does so at every moment, also where the wish to leave gets lost."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.executors.local import GradingProcess
from harness.grading.options import Options
from harness.sandbox.inside import syscalls

PROCESS = """
import os, time
from harness.executors import grading_process

grading_process.LEAVE_SECONDS = 1
grading_process._end_with(os.getppid())

class Finalized:
    def __del__(self):
        told()

def told():
    print("ready", flush=True)
    time.sleep(60)
"""
MOMENTS = {"at work": "told()", "in a finalizer": "Finalized(); time.sleep(60)"}


@pytest.mark.parametrize("moment", MOMENTS)
def test_it_leaves(moment: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROCESS + MOMENTS[moment]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        asked = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        finally:
            process.kill()
    # a second to close everything, and the interpreter's own end
    assert time.monotonic() - asked < 10
    assert process.returncode in (143, -signal.SIGALRM)


def test_it_leaves_when_the_signal_comes_before_it_waits_for_the_next_folder(toy, submit, monkeypatch):
    """What another thread is told leaves the waiting one asleep, as does what comes right before it waits."""

    def terminate(process: subprocess.Popen[str]) -> None:
        threads = {int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()}
        number = syscalls.numbers(os.uname().machine)["tgkill"]
        assert ctypes.CDLL(None).syscall(number, process.pid, max(threads - {process.pid}), signal.SIGTERM) == 0

    grader = GradingProcess(toy.workspace, Options())
    grader.grade(toy.workspace, submit("m", toy.source()), Options(), lambda stage: None)
    monkeypatch.setattr(subprocess.Popen, "terminate", terminate)
    begun = time.monotonic()
    grader.close()
    assert time.monotonic() - begun < 10
