"""One command run in the box: an answer's own tests, with forks allowed and no contract."""

import contextlib
import json
import math
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Self

from harness.errors import BoxError
from harness.sandbox import launch, process_stats, scratch
from harness.sandbox.channel import Output, readable
from harness.sandbox.spawning import end, spawn
from harness.sandbox.tiers import Tier
from harness.sandbox.usage import LOOK_SECONDS, ResourceBounds

if TYPE_CHECKING:
    from harness.sandbox.cgroup import Cgroup

START_SECONDS = 30.0
"""For the box to stand, on the busiest machine; before that nothing of the command has run."""
REPORT_FD = 3
"""Where a command writes its report."""
WALL_FACTOR, WALL_SECONDS = 10.0, 30.0
"""Wall time a command may take beside other work: so many times its processor time, and at least so many seconds."""
FILE_BYTES = 256 << 20
"""Largest file a command may write."""
PROCESSES = 256
PROCESSES_AT_FULL_MEMORY = 4
"""Each process of a command has the memory limit to itself; all together may use this many times as much."""
ORPHANED_SECONDS = 60
"""Processor seconds beyond its time after which the kernel ends a process that nobody watches."""


class CommandLimit(Enum):
    """A limit that a command exceeded, for which it was killed."""

    PROCESSOR_TIME = "processor time"
    """It used the processor seconds it was given."""
    WALL_CLOCK = "wall clock"
    """It was still there long after it could have used them."""
    OUTPUT = "output"
    """It printed or reported too much."""
    RESOURCES = "resources"
    """It used more scratch space, threads or processes than it may."""


@dataclass(frozen=True)
class Completed:
    """What a command did.

    A command is bounded by the processor time of all it starts, so that a busy machine ends none early. How to judge
    one that was killed by time, `exceeded` says:

    * `PROCESSOR_TIME` is the command's own doing, however busy the machine is.
    * `WALL_CLOCK` proves nothing: either it waits for something that never comes, or the machine gave it too little
      processor time. Run it once more with nothing beside it. If it ends the same way it hangs; if it ends in another
      way, judge that.

    Attributes:
        returncode: its exit status; None when it was killed.
        output: the last of what it printed.
        report: what it wrote to file descriptor 3, at most 1 MiB.
        seconds: wall time since it started.
        processor_seconds: processor time of it and all it started; never too much.
        exceeded: the limit for which it was killed; None when it ended by itself.
    """

    returncode: int | None
    output: str
    report: bytes
    seconds: float
    processor_seconds: float
    exceeded: CommandLimit | None = None

    @property
    def timed_out(self) -> bool:
        """Whether it was killed by either bound on time."""
        return self.exceeded in (CommandLimit.PROCESSOR_TIME, CommandLimit.WALL_CLOCK)


def run(
    command: Sequence[str], folder: Path, *, tier: Tier, seconds: float, wall_seconds: float | None = None,
    memory_mib: int = 2048, scratch_mib: int = 64, extra: Mapping[str, Path] | None = None,
    writable: Mapping[str, Path] | None = None, devices: Sequence[Path] = (), given: bytes | None = None,
) -> Completed:  # fmt: skip
    """Run `command` in the box in a read-only copy of `folder`.

    Args:
        command: the words; `{submission}`, `{boot}` and `{NAME}` of `extra` stand for the paths seen inside, and a
            first word `python` for the interpreter.
        folder: the submission's files.
        tier: how it is held.
        seconds: processor time allowed to it and all it starts.
        wall_seconds: wall time allowed once it has started; by default ten times `seconds`, and at least half a minute.
        memory_mib: address space of each process.
        scratch_mib: size of the writable /tmp.
        extra: more read-only folders.
        writable: folders of ours that the command may write, no file over 256 MiB.
        devices: device files and what their driver reads.
        given: what it finds on its standard input; nothing when None.

    Raises:
        BoxError: the command could not be started at all, which is no word about it.
    """
    placement = launch.Placement(folder, extra or {}, writable or {}, scratch_mib, devices)
    with scratch.folder() as place, _grouped(tier, memory_mib) as group, _standard_input(given) as stdin:
        inside = launch.prepare(tier, placement, place)
        limits = _Limits(seconds, wall_seconds or max(WALL_FACTOR * seconds, WALL_SECONDS), memory_mib, scratch_mib)
        return _run(inside, group, _resolve(command, inside), stdin, limits)


@dataclass(frozen=True)
class _Limits:
    processor_seconds: float
    wall_seconds: float
    memory_mib: int
    scratch_mib: int


@contextmanager
def _standard_input(given: bytes | None) -> Iterator[int]:
    """A descriptor to read `given` from."""
    if given is None:
        yield subprocess.DEVNULL
        return
    with open(os.memfd_create("given", os.MFD_CLOEXEC), "w+b") as file:
        file.write(given)
        file.seek(0)
        yield file.fileno()


@contextmanager
def _grouped(tier: Tier, memory_mib: int) -> Iterator["Cgroup | None"]:
    """A cgroup of a command's own, in the tier that has them."""
    if tier is not Tier.A:
        yield None
        return
    from harness.sandbox import cgroup

    group = cgroup.make(memory_mib * PROCESSES_AT_FULL_MEMORY << 20, PROCESSES)
    try:
        yield group
    finally:
        group.remove()


def _resolve(command: Sequence[str], inside: launch.Launch) -> list[str]:
    words = list(command)
    for name, path in {"submission": inside.folder, "boot": inside.boot, **inside.extra}.items():
        words = [word.replace(f"{{{name}}}", path) for word in words]
    if words[0] in ("python", "python3"):
        return [launch.interpreter(), "-I", "-B", *words[1:]]
    return [shutil.which(words[0], path=launch.ENVIRONMENT["PATH"]) or words[0], *words[1:]]


def _run(inside: launch.Launch, group: "Cgroup | None", words: Sequence[str], stdin: int, limits: _Limits) -> Completed:
    with _Pipes() as pipes:
        plan = {
            "fence": inside.fence("build", _rlimits(inside.tier, limits)),
            "report": pipes.inner["report"],
            "started": pipes.inner["started"],
            "keep": 0 if inside.tier.namespaces else os.getpid(),
        }
        runner = (launch.interpreter(), "-I", "-S", "-B", f"{inside.boot}/runner.py", json.dumps(plan), *words)
        prefix = group.enter_prefix() if group else ()
        try:
            process = spawn(
                (*prefix, *_there(inside), *runner), stdin=stdin, stdout=pipes.inner["output"],
                stderr=pipes.inner["output"], pass_fds=(plan["report"], plan["started"]),
                cwd=None if inside.prefix else inside.folder, env=launch.environment(inside.scratch),
            )  # fmt: skip
        except OSError as error:
            raise BoxError(f"cannot run a command in the box: {error}") from error
        try:
            pipes.close_inner()
            if not readable(pipes.started, START_SECONDS) or not os.read(pipes.started, 1):
                raise BoxError(f"a command did not start in the box{pipes.output.last()}")
            bounds = ResourceBounds(Path(inside.scratch), limits.scratch_mib << 20, PROCESSES)
            watch = _Watch(process, pipes, limits, None if inside.prefix else bounds, _meter(process, group))
            exceeded = watch.wait()
            returncode = None if exceeded else process.wait()
        finally:
            _end(process, bool(inside.prefix))
        text, report = pipes.output.text(), pipes.report.rest()
        return Completed(returncode, text, report, watch.seconds, watch.processor_seconds, exceeded)


def _meter(process: subprocess.Popen[bytes], group: "Cgroup | None") -> Callable[[], float]:
    """What reads the processor time of a command: its cgroup where that counts, else its process tree."""
    if group is not None and not math.isnan(group.processor_seconds()):
        return group.processor_seconds
    return process_stats.ProcessTreeMeter(process.pid).seconds


class _Pipes:
    """The pipes of one command: what it prints, what it reports, and the byte that says it has started."""

    def __init__(self) -> None:
        (printed, output), (told, report), (self.started, started) = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
        self.inner = {"output": output, "report": report, "started": started}
        self.output, self.report = Output(printed), Output(told, kept=1 << 20)

    def close_inner(self) -> None:
        """Close the ends that the command holds."""
        while self.inner:
            os.close(self.inner.popitem()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close_inner()
        os.close(self.started)
        self.output.close()
        self.report.close()


def _rlimits(tier: Tier, limits: _Limits) -> dict[str, int]:
    found = {
        "RLIMIT_AS": limits.memory_mib << 20,
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(limits.processor_seconds) + ORPHANED_SECONDS,
        "RLIMIT_FSIZE": FILE_BYTES,
        "RLIMIT_MSGQUEUE": 0,
    }
    return found | ({"RLIMIT_NPROC": PROCESSES} if tier.namespaces else {})


def _there(inside: launch.Launch) -> tuple[str, ...]:
    """The launch's command line, started in the submission's folder."""
    if not inside.prefix:
        return ()
    at = inside.prefix.index("--chdir")
    return (*inside.prefix[: at + 1], inside.folder, *inside.prefix[at + 2 :])


def _end(process: subprocess.Popen[bytes], namespaces: bool) -> None:
    """End the command with all it started; without namespaces its keeper does that, when it is asked to."""
    if not namespaces and process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    end(process)


class _Watch:
    """Drains a command's pipes and looks at what it uses until it ends or exceeds a limit."""

    def __init__(
        self, process: subprocess.Popen[bytes], pipes: _Pipes, limits: _Limits, bounds: ResourceBounds | None,
        meter: Callable[[], float],
    ) -> None:  # fmt: skip
        self._process = process
        self._pipes = (pipes.output, pipes.report)
        self._limits = limits
        self._bounds = bounds
        self._meter = meter
        self._start, self._before = time.perf_counter(), meter()
        self.seconds = self.processor_seconds = 0.0

    def wait(self) -> CommandLimit | None:
        """The limit that it exceeded; None when it ended first."""
        while not self._ended():
            self._read()
            if exceeded := self._exceeded():
                return exceeded
            left = self._limits.wall_seconds - self.seconds
            with selectors.DefaultSelector() as selector:
                for pipe in self._pipes:
                    if pipe.open:
                        selector.register(pipe.fd, selectors.EVENT_READ)
                # a process that closed its pipes can still run: look at it again soon
                selector.select(min(left, LOOK_SECONDS))
        self._read()
        return CommandLimit.OUTPUT if self._flooded() else None

    def _ended(self) -> bool:
        """Whether it ended; it is not waited for yet, so that its processor time can still be read."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _read(self) -> None:
        for pipe in self._pipes:
            pipe.drain()
        self.seconds = time.perf_counter() - self._start
        self.processor_seconds = self._meter() - self._before

    def _exceeded(self) -> CommandLimit | None:
        if self._flooded():
            return CommandLimit.OUTPUT
        if self.processor_seconds > self._limits.processor_seconds:
            return CommandLimit.PROCESSOR_TIME
        if self.seconds > self._limits.wall_seconds:
            return CommandLimit.WALL_CLOCK
        if self._bounds is not None and self._bounds.exceeded(self._process.pid):
            return CommandLimit.RESOURCES
        return None

    def _flooded(self) -> bool:
        return any(pipe.flooded for pipe in self._pipes)
