"""The process that runs of an answer's own tests are forked from.

It is forked from the server (`suite_server.py`) before that knows what will be asked, and learns of each run only what
all runs of a kind have in common: a child finds nothing in it that tells one changed copy of the source from another.
It holds no limit either: it ends a child when it is told to.

A request is one line of JSON: `program`, `arguments`, `folder`, `trace`, `quick`; `STOP` ends the run under way.
Replied is `READY` at first, then one line of JSON a run: `end` (exit, signal, late), `status`, `seconds`, and unless
the run is `quick` the child's `word` and the last of its `output`.
"""

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import tempfile
import time
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.fft
import numpy.linalg
import numpy.random
import numpy.testing
import suite_programs

REPORT = 3
READY, STOP = b"ready\n", b"stop\n"
PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
PR_SET_CHILD_SUBREAPER = 36
WORD_LIMIT = 1 << 18
OUTPUT_KEPT = 8 << 10
LEFT_SECONDS = 2.0
"""Within which what a run left behind has to be gone."""
UNSEEN_SECONDS = 0.2
"""The same where nobody can say what it is: for those that were killed with their group."""

_libc = ctypes.CDLL(None, use_errno=True)


def make_undumpable() -> None:
    """Keep children away from this process's memory and files, and collect what they leave behind.

    Raises:
        OSError: the kernel or a filter refused.
    """
    _prctl(PR_SET_DUMPABLE, 0)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    if _prctl(PR_GET_DUMPABLE, 0) != 0:
        raise OSError("this process can still be read by its children")


def serve(requests: int, replies: int, parent: int) -> None:
    """Fork a child for every request until `parent`, this process's own, hangs up."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    make_undumpable()
    os.close(REPORT)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    gc.freeze()
    os.write(replies, READY)
    # unbuffered: whether a line has come is asked of the kernel
    with os.fdopen(requests, "rb", 0) as lines:
        while line := lines.readline():
            if line != STOP:  # which came too late for the run before
                data = json.dumps(one_run(lines, **json.loads(line))).encode() + b"\n"
                while data:
                    data = data[os.write(replies, data) :]


def one_run(
    requests: BinaryIO, program: str, arguments: Sequence[str], folder: str, trace: bool, quick: bool
) -> dict[str, Any]:
    """Fork a child for one run of the suite and say how it ended."""
    word_read, word_write = os.pipe()
    output_read, output_write = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 70
        with contextlib.suppress(BaseException):
            become_child(folder, output_write, word_write, quick)
            status = suite_programs.run_suite(program, arguments, trace, quick, word_write)
        os._exit(status)
    os.close(word_write)
    os.close(output_write)
    word, output = ChildPipe(word_read, WORD_LIMIT), ChildPipe(output_read, OUTPUT_KEPT)
    wait_status = wait(child, (word, output), requests)
    line: dict[str, Any] = {"seconds": round(time.monotonic() - start, 4)}
    remove_descendants(child)
    if not quick:
        line |= {"word": word.parsed(), "output": output.text()}
    word.close()
    output.close()
    if wait_status is None:
        return line | {"end": "late", "status": None}
    code = os.waitstatus_to_exitcode(wait_status)
    return line | {"end": "exit" if code >= 0 else "signal", "status": abs(code)}


class ChildPipe:
    """The reading end of a pipe from a child: what comes is drained, its tail kept."""

    def __init__(self, fd: int, kept: int) -> None:
        os.set_blocking(fd, False)
        self.fd, self.kept = fd, kept
        self.open = True
        self.total = 0
        self.tail = b""

    def drain(self, rounds: int = 64) -> None:
        """Read what is there, at most `rounds` times."""
        for _ in range(rounds):
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self.open = False
                return
            self.total += len(data)
            self.tail = (self.tail + data)[-self.kept :]

    def parsed(self) -> Any:
        """The JSON that came, None when it is cut short, too long or none."""
        if self.total > self.kept:
            return None
        try:
            return json.loads(self.tail)
        except (ValueError, RecursionError):
            return None

    def text(self) -> str:
        """The end of what came."""
        return self.tail.decode(errors="replace")

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.fd)


def wait(child: int, pipes: Sequence[ChildPipe], requests: BinaryIO) -> int | None:
    """Drain `pipes` until `child` ends; its wait status, or None when it was killed because `requests` said so."""
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        for pipe in pipes:
            if pipe.open:
                pipe.drain()
        if done:
            return status
        open_fds = [pipe.fd for pipe in pipes if pipe.open]
        # a child without open pipes is about to end, or hides: look again soon
        ready = select.select([*open_fds, requests.fileno()], [], [], 0.05 if open_fds else 0.001)[0]
        if requests.fileno() in ready:
            requests.readline()
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None


def remove_descendants(child: int) -> None:
    """Kill what a finished run left running: its group, then whatever was handed to this process.

    In tier C nobody can say what that is: what left the group goes on until the end of all runs.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    start = time.monotonic()
    patience = LEFT_SECONDS
    while time.monotonic() < start + patience:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        try:
            left = own_children()
        except PermissionError:
            patience = UNSEEN_SECONDS
            left = []
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def own_children() -> list[int]:
    """Processes whose parent this one is.

    Raises:
        PermissionError: nothing of /proc is shown here.
    """
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                if parent == os.getpid():
                    found.append(int(name))
    return found


def become_child(folder: str, output: int, word: int, quiet: bool) -> None:
    """Make a forked copy of the forker a process the suite can be run in."""
    os.setsid()
    for target in (1, 2):
        os.dup2(0 if quiet else output, target)
    os.closerange(3, word)
    os.closerange(word + 1, 1 << 16)
    _prctl(PR_SET_DUMPABLE, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.chdir(folder)
    np.random.seed()  # a fork shares the state of NumPy's generator: every run would draw the same
    tempfile.tempdir = None


def _prctl(option: int, value: int) -> int:
    result = int(_libc.prctl(option, value, 0, 0, 0))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}): {os.strerror(ctypes.get_errno())}")
    return result
