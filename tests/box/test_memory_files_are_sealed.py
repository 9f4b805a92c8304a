"""Inputs cannot be changed by the worker, and outputs cannot change after the reply."""

import numpy as np

from harness.box import Array, Came, Scalar

GRAB = """
import mmap, os, sys
import numpy as np
def frame():
    f = sys._getframe()
    while 'fds' not in f.f_locals:
        f = f.f_back
    return f.f_locals['fds']
"""


def test_an_input_file_cannot_be_written_grown_or_shrunk(opened, tier):
    source = (
        GRAB
        + """
def f(x):
    fd, failed = frame()[0], 0
    for attempt in (lambda: os.pwrite(fd, b'x', 0), lambda: os.ftruncate(fd, 0), lambda: os.ftruncate(fd, 9999),
                    lambda: mmap.mmap(fd, 8, mmap.MAP_SHARED, mmap.PROT_WRITE | mmap.PROT_READ)):
        try:
            attempt()
        except OSError:
            failed += 1
    return failed
"""
    )
    assert opened(source).call("f", np.ones(8), returns=Scalar(int)).value == 4


def test_a_worker_that_keeps_its_output_mapped_is_rejected(opened, tier):
    source = (
        GRAB
        + """
keep = []
def f(x):
    keep.append(mmap.mmap(frame()[-1], 64, mmap.MAP_SHARED, mmap.PROT_WRITE | mmap.PROT_READ))
    return x
"""
    )
    reply = opened(source).call("f", np.ones(8), returns=Array((8,), "float64"))
    assert reply.came is Came.FORGED
    assert "still be written" in reply.text


def test_a_write_after_the_reply_is_stopped(opened, tier):
    source = (
        GRAB
        + """
import threading, time
def late(fd):
    time.sleep(0.05)
    try:
        os.pwrite(fd, b'\\0' * 64, 0)
    except OSError:
        pass
def f(x):
    threading.Thread(target=late, args=(os.dup(frame()[-1]),), daemon=True).start()
    return x
"""
    )
    box = opened(source)
    reply = box.call("f", np.ones(8), returns=Array((8,), "float64"))
    assert reply.came is Came.BACK and (reply.value == 1).all()
