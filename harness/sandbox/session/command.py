"""One command in the box, such as own tests: it may fork, and has no contract."""

import contextlib
import json
import os
import selectors
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Self

from harness.errors import BoxError
from harness.model import Tier
from harness.sandbox.accounting.resource_bounds import LOOK_SECONDS, ResourceBounds
from harness.sandbox.accounting.wall_bound import compute_remaining_wall
from harness.sandbox.confinement import visible_files
from harness.sandbox.confinement.implementations import new_sandbox
from harness.sandbox.confinement.protocol import Confinement, FileAccess, InsidePaths, Sandbox
from harness.sandbox.session.background_task import assert_wanted
from harness.sandbox.session.output import Output, readable

START_SECONDS = 30.0
"""Longest wait for the box to be ready, on the busiest machine; the command has not run by then."""
REPORT_FD = 3
"""File descriptor that a command writes its report to."""
FILE_BYTES = 256 << 20
"""Largest file that a command may write."""
PROCESSES = 256
PROCESSES_AT_FULL_MEMORY = 4
"""Ratio of the memory limit of all processes together to that of each."""
ORPHANED_SECONDS = 60
"""Processor seconds beyond its limit after which the kernel ends an unwatched process."""


class CommandLimit(Enum):
    """A limit for which a command was killed."""

    PROCESSOR_TIME = "processor time"
    """The command used up its processor time."""
    WALL_CLOCK = "wall clock"
    """The command was still running long after it could have used up its processor time."""
    OUTPUT = "output"
    """The command printed or reported too much."""
    RESOURCES = "resources"
    """The command used more scratch space, threads or processes than allowed."""


@dataclass(frozen=True)
class Completed:
    """The result of a command.

    The limit is on processor time, so a busy machine ends no command early. `WALL_CLOCK` is inconclusive: repeat it on
    an idle machine, where a second `WALL_CLOCK` means that it hangs.

    Attributes:
        returncode: exit status; None if killed.
        report: bytes written to file descriptor 3, at most 1 MiB.
        seconds: wall time.
        processor_seconds: processor time with descendants; never too much.
    """

    returncode: int | None
    output: str
    report: bytes
    seconds: float
    processor_seconds: float
    exceeded: CommandLimit | None = None

    @property
    def timed_out(self) -> bool:
        """True if it was killed for its time."""
        return self.exceeded in (CommandLimit.PROCESSOR_TIME, CommandLimit.WALL_CLOCK)


def run(
    command: Sequence[str], folder: Path, *, tier: Tier, seconds: float, wall_seconds: float | None = None,
    memory_mib: int = 2048, scratch_mib: int = 64, extra: Mapping[str, Path] | None = None,
    writable: Mapping[str, Path] | None = None, devices: Sequence[Path] = (), given: bytes | None = None,
    watch: Callable[[float, bytes], None] | None = None,
) -> Completed:  # fmt: skip
    """Run `command` in the box in a read-only copy of `folder`.

    Args:
        command: words; `{submission}`, `{boot}` and `{NAME}` of `extra` or `writable` expand to paths inside, a first
            word `python` to the interpreter.
        seconds: processor time, with descendants.
        wall_seconds: wall time; by default a first try's in `wall_bound.compute_remaining_wall`.
        memory_mib: address space per process.
        writable: as in `FileAccess`, like `extra`, `scratch_mib` and `devices`; files are limited to 256 MiB.
        given: standard input; None for an empty one.
        watch: periodic callback with the seconds and the report so far.

    Raises:
        BoxError: the command did not start, which says nothing about it.
        GivenUp: this thread works beside a grade that has ended.
    """
    access = FileAccess(folder, extra or {}, writable or {}, scratch_mib, devices)
    limits = _Limits(seconds, wall_seconds)
    sandbox = new_sandbox(tier)
    process = None
    with _Pipes() as pipes, _open_standard_input(given) as stdin, contextlib.ExitStack() as undo:
        try:
            sandbox.prepare(access, memory_mib * PROCESSES_AT_FULL_MEMORY << 20, PROCESSES)
            confinement = sandbox.limit("build", _rlimits(memory_mib << 20, seconds), PROCESSES)
            undo.callback(confinement.close)
            process = _start(sandbox, confinement, _resolve(command, sandbox.paths), stdin, pipes)
            _await_start(pipes)
            watched = _Watch(process, pipes, limits, confinement.bounds, sandbox.meter(process), watch)
            pipes.let_run()
            exceeded = watched.wait()
            returncode = None if exceeded else process.wait()
        finally:
            sandbox.end(process)
        text, report = pipes.output.text(), pipes.report.rest()
    return Completed(returncode, text, report, watched.seconds, watched.processor_seconds, exceeded)


@dataclass(frozen=True)
class _Limits:
    processor_seconds: float
    wall_seconds: float | None


@contextmanager
def _open_standard_input(given: bytes | None) -> Iterator[int]:
    if given is None:
        yield subprocess.DEVNULL
        return
    with open(os.memfd_create("given", os.MFD_CLOEXEC), "w+b") as file:
        file.write(given)
        file.seek(0)
        yield file.fileno()


def _resolve(command: Sequence[str], paths: InsidePaths) -> list[str]:
    words = list(command)
    for name, path in {"submission": paths.folder, "boot": paths.boot, **paths.extra}.items():
        words = [word.replace(f"{{{name}}}", path) for word in words]
    if words[0] in ("python", "python3"):
        return [visible_files.interpreter(), "-I", "-B", *words[1:]]
    return [shutil.which(words[0], path=visible_files.ENVIRONMENT["PATH"]) or words[0], *words[1:]]


def _start(
    sandbox: Sandbox, confinement: Confinement, words: Sequence[str], stdin: int, pipes: "_Pipes"
) -> subprocess.Popen[bytes]:
    report, started = pipes.inner["report"], pipes.inner["started"]
    plan = {"fence": confinement.fence, "report": report, "started": started, "keep": sandbox.keeper}
    runner = (visible_files.interpreter(), "-I", "-S", "-B", f"{sandbox.paths.boot}/runner.py", json.dumps(plan))
    try:
        return sandbox.spawn(
            (*runner, *words), in_folder=True, stdin=stdin, stdout=pipes.inner["output"], stderr=pipes.inner["output"],
            pass_fds=(report, started), env=visible_files.environment(confinement.scratch),
        )  # fmt: skip
    except OSError as error:
        raise BoxError(f"cannot run a command in the box: {error}") from error


def _await_start(pipes: "_Pipes") -> None:
    pipes.close_inner()
    if not readable(pipes.started, START_SECONDS) or not os.read(pipes.started, 1):
        raise BoxError(f"a command did not start in the box{pipes.output.last()}")


class _Pipes:
    """A command's output, its report, and a handshake."""

    def __init__(self) -> None:
        (printed, output), (reported, report) = (os.pipe2(os.O_CLOEXEC) for _ in range(2))
        self.started, started = (end.detach() for end in socket.socketpair())
        self.inner = {"output": output, "report": report, "started": started}
        self.output, self.report = Output(printed), Output(reported, kept=1 << 20)

    def close_inner(self) -> None:
        while self.inner:
            os.close(self.inner.popitem()[1])

    def let_run(self) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            os.write(self.started, b"!")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close_inner()
        os.close(self.started)
        self.output.close()
        self.report.close()


def _rlimits(memory: int, seconds: float) -> dict[str, int]:
    return {
        "RLIMIT_AS": memory,
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(seconds) + ORPHANED_SECONDS,
        "RLIMIT_FSIZE": FILE_BYTES,
        "RLIMIT_MSGQUEUE": 0,
    }


class _Watch:
    def __init__(
        self, process: subprocess.Popen[bytes], pipes: _Pipes, limits: _Limits, bounds: ResourceBounds | None,
        meter: Callable[[], float], watch: Callable[[float, bytes], None] | None = None,
    ) -> None:  # fmt: skip
        self._process = process
        self._watch = watch
        self._pipes = (pipes.output, pipes.report)
        self._limits = limits
        self._bounds = bounds
        self._meter = meter
        self._start, self._before = time.perf_counter(), meter()
        self.seconds = self.processor_seconds = 0.0

    def wait(self) -> CommandLimit | None:
        """Return the exceeded limit; None if the command ended first."""
        while not self._has_ended():
            assert_wanted()
            self._read()
            if exceeded := self._find_exceeded():
                return exceeded
            if self._watch is not None:
                self._watch(self.seconds, self._pipes[1].tail)
            left = max(self._compute_remaining_wall(), 0.0)
            with selectors.DefaultSelector() as selector:
                for pipe in self._pipes:
                    if pipe.open:
                        selector.register(pipe.fd, selectors.EVENT_READ)
                # a process that closed its pipes may still run, so check again soon
                selector.select(min(left, LOOK_SECONDS))
        self._read()
        return CommandLimit.OUTPUT if self._is_flooded() else None

    def _has_ended(self) -> bool:
        """Test for the end without reaping, which would lose the processor time."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _read(self) -> None:
        for pipe in self._pipes:
            pipe.drain()
        self.seconds = time.perf_counter() - self._start
        self.processor_seconds = self._meter() - self._before

    def _find_exceeded(self) -> CommandLimit | None:
        if self._is_flooded():
            return CommandLimit.OUTPUT
        if self.processor_seconds > self._limits.processor_seconds:
            return CommandLimit.PROCESSOR_TIME
        if self._compute_remaining_wall() < 0:
            return CommandLimit.WALL_CLOCK
        if self._bounds is not None and self._bounds.find_excess(self._process.pid):
            return CommandLimit.RESOURCES
        return None

    def _compute_remaining_wall(self) -> float:
        limit = self._limits.processor_seconds
        if self._limits.wall_seconds is not None:
            return self._limits.wall_seconds - self.seconds
        return compute_remaining_wall(limit, self.seconds, self.processor_seconds)

    def _is_flooded(self) -> bool:
        return any(pipe.flooded for pipe in self._pipes)
