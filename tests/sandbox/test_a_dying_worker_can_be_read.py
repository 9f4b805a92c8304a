"""Reading a process that ends meanwhile never raises: its end is the worker's, not a failure of the harness."""

import subprocess
import threading

from harness.sandbox.accounting.run_queue import RunQueue

ENDS = 500
"""Processes that end while they are read: enough that some end between two steps of a reading."""


def test_waiting_times_are_read_while_processes_end():
    here = RunQueue()
    assert here.seconds(2**22 + 1) >= 0  # above the largest process id
    here.close()
    for _ in range(ENDS):
        process = subprocess.Popen(["true"])
        reaped = threading.Event()
        reaper = threading.Thread(target=lambda p=process, done=reaped: (p.wait(), done.set()))
        reaper.start()
        queue = RunQueue()
        while not reaped.is_set():
            assert queue.seconds(process.pid) >= 0
        queue.close()
        reaper.join()
