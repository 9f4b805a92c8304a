"""A grading process that is asked to leave does so at every moment, also where the wish to leave gets lost."""

import os
import signal
import subprocess
import sys
import time

import pytest

PROCESS = """
import os, time
from harness import serving

serving.LEAVE_SECONDS = 1
serving._end_with(os.getppid())

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
