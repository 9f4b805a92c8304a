"""One command run in the box: an answer's own tests, with forks allowed and no contract."""

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from harness.errors import BoxError
from harness.sandbox import launch, scratch
from harness.sandbox.channel import Output, readable
from harness.sandbox.spawning import end, spawn
from harness.sandbox.tiers import Tier
from harness.sandbox.usage import LOOK_SECONDS, ResourceBounds

START_SECONDS = 30.0
"""For the box to stand, on the busiest machine; before that nothing of the command has run."""
REPORT_FD = 3
"""Where a command writes its report."""
FILE_BYTES = 256 << 20
"""Largest file a command may write."""
PROCESSES = 256
PROCESSES_AT_FULL_MEMORY = 4
"""Each process of a command has the memory limit to itself; all together may use this many times as much."""
ORPHANED_SECONDS = 60
"""Processor seconds beyond its time after which the kernel ends a process that nobody watches."""


@dataclass(frozen=True)
class Completed:
    """What came of a command.

    Attributes:
        returncode: its exit status; None when it had to be killed.
        output: the last of what it printed.
        report: what it wrote to file descriptor 3, at most 1 MiB.
        seconds: wall time since it started.
        timed_out: whether its time ran out.
        flooded: whether it printed, reported or used more than it may.
    """

    returncode: int | None
    output: str
    report: bytes
    seconds: float
    timed_out: bool
    flooded: bool = False


def run(
    command: Sequence[str], folder: Path, *, tier: Tier, seconds: float, memory_mib: int = 2048,
    scratch_mib: int = 64, extra: Mapping[str, Path] | None = None, writable: Mapping[str, Path] | None = None,
    devices: Sequence[Path] = (), given: bytes | None = None,
) -> Completed:  # fmt: skip
    """Run `command` in the box in a read-only copy of `folder`.

    Args:
        command: the words; `{submission}`, `{boot}` and `{NAME}` of `extra` stand for the paths seen inside, and a
            first word `python` for the interpreter.
        folder: the submission's files.
        tier: how it is held.
        seconds: wall time allowed once it has started.
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
    with scratch.folder() as place, _grouped(tier, memory_mib) as prefix, _standard_input(given) as stdin:
        inside = launch.prepare(tier, placement, place)
        return _run(inside, prefix, _resolve(command, inside), stdin, seconds, memory_mib << 20, scratch_mib << 20)


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
def _grouped(tier: Tier, memory_mib: int) -> Iterator[tuple[str, ...]]:
    """The words that start a command in a cgroup of its own, in the tier that has them."""
    if tier is not Tier.A:
        yield ()
        return
    from harness.sandbox import cgroup

    group = cgroup.make(memory_mib * PROCESSES_AT_FULL_MEMORY << 20, PROCESSES)
    try:
        yield group.enter_prefix()
    finally:
        group.remove()


def _resolve(command: Sequence[str], inside: launch.Launch) -> list[str]:
    words = list(command)
    for name, path in {"submission": inside.folder, "boot": inside.boot, **inside.extra}.items():
        words = [word.replace(f"{{{name}}}", path) for word in words]
    if words[0] in ("python", "python3"):
        return [launch.interpreter(), "-I", "-B", *words[1:]]
    return [shutil.which(words[0], path=launch.ENVIRONMENT["PATH"]) or words[0], *words[1:]]


def _run(
    inside: launch.Launch, prefix: Sequence[str], words: Sequence[str], stdin: int, seconds: float, memory: int,
    room: int,
) -> Completed:  # fmt: skip
    with _Pipes() as pipes:
        plan = {
            "fence": inside.fence("build", _rlimits(inside.tier, memory, seconds)),
            "report": pipes.inner["report"],
            "started": pipes.inner["started"],
            "keep": 0 if inside.tier.namespaces else os.getpid(),
        }
        runner = (launch.interpreter(), "-I", "-S", "-B", f"{inside.boot}/runner.py", json.dumps(plan), *words)
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
            start = time.perf_counter()
            bounds = None if inside.prefix else ResourceBounds(Path(inside.scratch), room, PROCESSES)
            timed_out, too_much = _wait(process, (pipes.output, pipes.report), start + seconds, bounds)
            cut = timed_out or too_much or pipes.output.flooded or pipes.report.flooded
            returncode = None if cut else process.wait()
            spent = time.perf_counter() - start
        finally:
            _end(process, bool(inside.prefix))
        return Completed(returncode, pipes.output.text(), pipes.report.rest(), spent, timed_out, cut and not timed_out)


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


def _rlimits(tier: Tier, memory: int, seconds: float) -> dict[str, int]:
    found = {
        "RLIMIT_AS": memory,
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(seconds) + ORPHANED_SECONDS,
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


def _wait(
    process: subprocess.Popen[bytes], pipes: Sequence[Output], deadline: float, bounds: ResourceBounds | None
) -> tuple[bool, bool]:
    """Drain until the process ends; whether its time ran out, and whether it printed or used too much."""
    while process.poll() is None:
        left = deadline - time.perf_counter()
        if left <= 0:
            return True, False
        with selectors.DefaultSelector() as selector:
            for pipe in pipes:
                if pipe.open:
                    selector.register(pipe.fd, selectors.EVENT_READ)
            # a process that closed its pipes can still run: look at it again soon
            selector.select(min(left, LOOK_SECONDS))
        for pipe in pipes:
            pipe.drain()
        if any(pipe.flooded for pipe in pipes) or (bounds is not None and bounds.exceeded(process.pid)):
            return False, True
    return False, False
