"""Parent process of all runs of a submission's own tests.

The server (`suite_server.py`) forks it before it reads the plan. It learns only what all runs of a kind have in common,
so a child cannot find out which changed copy of the source it runs.

A request is one line of JSON: `program`, `arguments`, `folder`, `trace`, `quick`, `seconds` (processor time),
`idle_seconds`. The reply is `READY` at first, then one line of JSON per run: `end`, `status`, `processor_seconds`, and
unless `quick` the child's `word` and last `output`. Values of `end`:

* `exit`, `signal`: ended by itself.
* `late`: used up its processor time.
* `idle`: waited too long even for a busy machine.
* `cut`: undecided, as the machine gave it too little time.
"""

import contextlib
import gc
import json
import math
import os
import resource
import select
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.fft
import numpy.linalg
import numpy.random
import numpy.testing
import process_control as control
import suite_programs

REPORT = 3
READY = b"ready\n"
WORD_LIMIT = 1 << 18
OUTPUT_KEPT = 8 << 10
UNSEEN_FACTOR = 2.0
"""Factor on the idle seconds if only the first process of a run is visible."""
IDLE_SHARE = 0.02
"""Share of its idle seconds for which a run must use the processor."""
WALL_FACTOR, WALL_SECONDS = 20.0, 60.0
"""Wall time of a run: a factor on its processor time, plus seconds."""
LOOK_SECONDS = 0.25
"""Seconds between checks of a run's processor time."""
LEFT_SECONDS = 2.0
"""Seconds within which remaining processes of a run must be gone."""
UNSEEN_SECONDS = 0.2
"""The same if processes cannot be listed, so that only their group is killed."""


def make_undumpable() -> None:
    """Hide this process from its children and adopt orphaned descendants.

    Raises:
        OSError: the kernel or a filter refused.
    """
    control.prctl(control.SET_DUMPABLE, 0)
    control.prctl(control.SET_CHILD_SUBREAPER, 1)
    if control.prctl(control.GET_DUMPABLE) != 0:
        raise OSError("this process can still be read by its children")


def serve(requests: int, replies: int, parent: int) -> None:
    """Fork a child for every request until `parent` hangs up."""
    control.prctl(control.SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    make_undumpable()
    os.close(REPORT)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    gc.freeze()
    os.write(replies, READY)
    with os.fdopen(requests, "rb") as lines:
        while line := lines.readline():
            data = json.dumps(one_run(**json.loads(line))).encode() + b"\n"
            while data:
                data = data[os.write(replies, data) :]


def one_run(
    program: str, arguments: Sequence[str], folder: str, trace: bool, quick: bool, seconds: float, idle_seconds: float
) -> dict[str, Any]:
    """Fork a child for one run and return its reply line."""
    word_read, word_write = os.pipe()
    output_read, output_write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 70
        with contextlib.suppress(BaseException):
            become_child(folder, output_write, word_write, quick, seconds)
            status = suite_programs.run_suite(program, arguments, trace, quick, word_write)
        os._exit(status)
    os.close(word_write)
    os.close(output_write)
    word, output = ChildPipe(word_read, WORD_LIMIT), ChildPipe(output_read, OUTPUT_KEPT)
    line = wait(child, (word, output), seconds, idle_seconds)
    remove_descendants(child)
    if not quick:
        line |= {"word": word.parse(), "output": output.text()}
    word.close()
    output.close()
    return line


class ChildPipe:
    """Reading end of a child's pipe, which keeps the last data."""

    def __init__(self, fd: int, kept: int) -> None:
        os.set_blocking(fd, False)
        self.fd, self.kept = fd, kept
        self.open = True
        self.total = 0
        self.tail = b""

    def drain(self, rounds: int = 64) -> None:
        """Read available data, at most `rounds` times."""
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

    def parse(self) -> Any:
        """Return the received JSON; None if incomplete, too long or missing."""
        if self.total > self.kept:
            return None
        try:
            return json.loads(self.tail)
        except (ValueError, RecursionError):
            return None

    def text(self) -> str:
        """Return the end of the received text."""
        return self.tail.decode(errors="replace")

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.fd)


def wait(child: int, pipes: Sequence[ChildPipe], seconds: float, idle_seconds: float) -> dict[str, Any]:
    """Drain `pipes` until `child` ends or must be killed; return the reply line."""
    watch = Watch(child, seconds, idle_seconds)
    end = ""
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        for pipe in pipes:
            if pipe.open:
                pipe.drain()
        if done:
            used = usage.ru_utime + usage.ru_stime
            code = os.waitstatus_to_exitcode(status)
            if code in (-signal.SIGXCPU, -signal.SIGKILL) and used >= seconds:
                end = "late"  # the kernel's limit fired before our check
            own = "exit" if code >= 0 else "signal"
            line: dict[str, Any] = {"end": end or own, "status": None if end else abs(code)}
            return line | {"processor_seconds": round(max(used, watch.used), 4)}
        if not end and (end := watch.verdict()):
            os.kill(child, signal.SIGKILL)
        open_fds = [pipe.fd for pipe in pipes if pipe.open]
        # a child without open pipes is about to end, or hides: look again soon
        select.select(open_fds, [], [], 0.05 if open_fds else 0.001)


class Watch:
    """Monitor of a run's processor time."""

    def __init__(self, child: int, seconds: float, idle_seconds: float) -> None:
        self.child, self.seconds, self.idle_seconds = child, seconds, idle_seconds
        self.used = 0.0
        self.begun = self.looked = self.window = time.monotonic()
        self.used_before = 0.0

    def verdict(self) -> str:
        """Return the `end` to impose now, or an empty string."""
        now = time.monotonic()
        if now < self.looked + LOOK_SECONDS:
            return ""
        self.looked = now
        try:
            self.used, patience = max(self.used, descendants_seconds()), self.idle_seconds
        except PermissionError:
            self.used, patience = max(self.used, clock_of(self.child)), UNSEEN_FACTOR * self.idle_seconds
        if self.used >= self.seconds:
            return "late"
        if self.used - self.used_before >= IDLE_SHARE * patience:
            self.window, self.used_before = now, self.used
        if now >= self.window + patience:
            return "idle"
        return "cut" if now >= self.begun + WALL_FACTOR * self.seconds + WALL_SECONDS else ""


def clock_of(pid: int) -> float:
    """Return the processor time of a process, 0 if gone, without /proc."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def descendants_seconds() -> float:
    """Return the processor time of all descendants, reaped ones included.

    Raises:
        PermissionError: /proc is hidden.
    """
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for pid, fields in processes():
        parents[pid] = int(fields[1])
        seconds[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    mine, waiting = 0.0, [os.getpid()]
    while waiting:
        above = waiting.pop()
        below = [pid for pid, parent in parents.items() if parent == above]
        mine += sum(seconds[pid] for pid in below)
        waiting += below
    return mine


def processes() -> Iterator[tuple[int, list[bytes]]]:
    """Yield the pid and fields of /proc/PID/stat, from the state on, of visible processes.

    Raises:
        PermissionError: /proc is hidden.
    """
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                yield int(name), file.read().rpartition(b")")[2].split()


def remove_descendants(child: int) -> None:
    """Kill a finished run's group, then adopted orphans; in tier C, hidden orphans outlive the run."""
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
            left = [pid for pid, fields in processes() if int(fields[1]) == os.getpid()]
        except PermissionError:
            patience = UNSEEN_SECONDS
            left = []
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def become_child(folder: str, output: int, word: int, quiet: bool, seconds: float) -> None:
    """Turn a forked copy into a process for the suite."""
    os.setsid()
    # a backstop for each process, listed or not: twice the limit of `Watch`, since the kernel samples processor time
    # and may be a fifth ahead of the processor time it reports
    limit = math.ceil(2 * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    for target in (1, 2):
        os.dup2(0 if quiet else output, target)
    os.closerange(3, word)
    os.closerange(word + 1, 1 << 16)
    control.prctl(control.SET_DUMPABLE, 1)
    control.prctl(control.SET_PDEATHSIG, signal.SIGKILL)
    os.chdir(folder)
    np.random.seed()  # forks share the state of NumPy's generator, so every run would draw the same numbers
    tempfile.tempdir = None
