"""Inputs cannot be changed by the worker, and outputs cannot change after the reply."""

import mmap
import os
import threading
import time

import numpy as np
import pytest

from harness.sandbox import Array, CallStatus, Scalar
from harness.sandbox.inside import wire
from harness.sandbox.session.memory_file import AT_ONCE, PATIENCE, MemoryFile, StillWritable
from tests.reaching_in import REACHING_IN


def test_an_input_file_cannot_be_written_grown_or_shrunk(opened, tier):
    source = (
        REACHING_IN
        + """
def f(x):
    fd, failed = served()['fds'][0], 0
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
        REACHING_IN
        + """
keep = []
def f(x):
    keep.append(mmap.mmap(served()['fds'][-1], 64, mmap.MAP_SHARED, mmap.PROT_WRITE | mmap.PROT_READ))
    return x
"""
    )
    reply = opened(source).call("f", np.ones(8), returns=Array((8,), "float64"))
    assert reply.status is CallStatus.PROTOCOL_VIOLATION
    assert "still be written" in reply.text


def test_a_write_after_the_reply_is_stopped(opened, tier):
    source = (
        REACHING_IN
        + """
def late(fd):
    time.sleep(0.05)
    try:
        os.pwrite(fd, b'\\0' * 64, 0)
    except OSError:
        pass
def f(x):
    threading.Thread(target=late, args=(os.dup(served()['fds'][-1]),), daemon=True).start()
    return x
"""
    )
    box = opened(source)
    reply = box.call("f", np.ones(8), returns=Array((8,), "float64"))
    assert reply.status is CallStatus.RETURNED and (reply.value == 1).all()


def test_a_write_between_the_reply_and_the_copy_never_counts(opened, tier, monkeypatch):
    """While the parent is slow to copy, a thread of the answer goes on writing: what it changes is not read."""
    source = (
        REACHING_IN
        + """
def late(fd):
    time.sleep(0.5)
    for _ in range(200):
        try:
            os.pwrite(fd, b'\\0' * 64, 0)
        except OSError:
            pass
        time.sleep(0.005)
def f(x):
    threading.Thread(target=late, args=(os.dup(served()['fds'][-1]),), daemon=True).start()
    return x
"""
    )
    box, read = opened(source), wire.read_array

    def slow(*place):
        time.sleep(1.5)
        return read(*place)

    monkeypatch.setattr(wire, "read_array", slow)
    reply = box.call("f", np.ones(8), returns=Array((8,), "float64"))
    # on a machine so busy that the clock ran on until it wrote, what it wrote in time counts
    assert reply.status is CallStatus.RETURNED and ((reply.value == 1).all() or reply.seconds > 0.5)


def held_in_a_pipe(file: MemoryFile) -> tuple[int, int]:
    """The reading and the writing end of a pipe that holds the file's pages themselves, as the kernel does at times."""
    reading, writing = os.pipe()
    os.pwrite(file.fd, bytes(file.size), 0)
    assert os.splice(file.fd, writing, file.size, offset_src=0) == file.size
    return reading, writing


def test_pages_that_the_kernel_is_done_with_soon_accuse_nobody():
    with MemoryFile.blank(4096) as file:
        reading, writing = held_in_a_pipe(file)
        # two waits of the kernel's 150 ms
        release = threading.Timer(0.25, os.read, (reading, file.size))
        release.start()
        file.freeze()
        with pytest.raises(PermissionError):
            os.pwrite(file.fd, b"late", 0)
        release.join()
        os.close(reading)
        os.close(writing)


def test_pages_of_an_input_are_waited_for_as_well():
    class Arena(wire.Arena):
        size = 4096

        def write(self, fd):
            self.reading, self.writing = held_in_a_pipe(MemoryFile(fd, self.size))
            self.release = threading.Timer(0.25, os.read, (self.reading, self.size))
            self.release.start()

    arena = Arena()
    with MemoryFile.of(arena) as file, pytest.raises(PermissionError):
        os.pwrite(file.fd, b"late", 0)
    arena.release.join()
    os.close(arena.reading)
    os.close(arena.writing)


def test_pages_that_stay_in_use_can_still_be_written():
    with MemoryFile.blank(4096) as file:
        ends = held_in_a_pipe(file)
        start = time.monotonic()
        with pytest.raises(StillWritable):
            file.freeze()
        assert PATIENCE < time.monotonic() - start < 2 * PATIENCE
        for end in ends:
            os.close(end)


def test_a_writable_mapping_is_refused_at_once():
    with MemoryFile.blank(4096) as file, mmap.mmap(file.fd, 4096):
        start = time.monotonic()
        with pytest.raises(StillWritable):
            file.freeze()
        assert time.monotonic() - start < AT_ONCE
