"""One command run in the box: an answer's own tests, with forks allowed and no contract."""

import os
import selectors
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.box import clock, scratch, tiers
from harness.box.channel import Output
from harness.errors import BoxError

REPORT_FD = 3
_LIMITER = """
import os, resource, sys
memory, report = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
if report != 3:
    os.dup2(report, 3)
    os.close(report)
os.set_inheritable(3, True)
os.execv(sys.argv[3], sys.argv[3:])
"""


@dataclass(frozen=True)
class Completed:
    """What came of a command.

    Attributes:
        returncode: its exit status; None when it had to be killed.
        output: the last of what it printed.
        report: what it wrote to file descriptor 3, at most 1 MiB.
        seconds: wall time.
        timed_out: whether its time ran out.
        flooded: whether it printed more than it may.
    """

    returncode: int | None
    output: str
    report: bytes
    seconds: float
    timed_out: bool
    flooded: bool = False


def run(
    command: Sequence[str], folder: Path, *, tier: tiers.Tier, seconds: float, memory_mib: int = 2048,
    scratch_mib: int = 64, extra: Mapping[str, Path] | None = None, writable: Mapping[str, Path] | None = None,
    devices: Sequence[Path] = (),
) -> Completed:  # fmt: skip
    """Run `command` in the box in a read-only copy of `folder`.

    Args:
        command: the words; `{submission}`, `{boot}` and `{NAME}` of `extra` stand for the paths seen inside, and a
            first word `python` for the interpreter.
        folder: the submission's files.
        tier: how it is held.
        seconds: wall time allowed.
        memory_mib: address space of each process.
        scratch_mib: size of the writable /tmp.
        extra: more read-only folders.
        writable: folders of ours that the command may write, no file over 256 MiB.
        devices: device files and what their driver reads.

    Raises:
        BoxError: the command could not be started at all.
    """
    with scratch.folder() as place:
        launch = tiers.prepare(tier, tiers.Placement(folder, extra or {}, writable or {}, scratch_mib, devices), place)
        return _run(launch, _resolve(command, launch), seconds, memory_mib << 20)


def _resolve(command: Sequence[str], launch: tiers.Launch) -> list[str]:
    words = list(command)
    for name, path in {"submission": launch.folder, "boot": launch.boot, **launch.extra}.items():
        words = [word.replace(f"{{{name}}}", path) for word in words]
    if words[0] in ("python", "python3"):
        return [tiers.interpreter(), "-I", "-B", *words[1:]]
    return [shutil.which(words[0], path=tiers.ENVIRONMENT["PATH"]) or words[0], *words[1:]]


def _run(launch: tiers.Launch, words: list[str], seconds: float, memory: int) -> Completed:
    output_read, output_write = os.pipe2(os.O_CLOEXEC)
    report_read, report_write = os.pipe2(os.O_CLOEXEC)
    limiter = (tiers.interpreter(), "-I", "-S", "-c", _LIMITER, str(memory), str(report_write), *words)
    start = clock.now()
    place = None if launch.prefix else launch.folder
    chdir = _inside(launch)
    try:
        process = subprocess.Popen(
            (*chdir, *limiter), stdin=subprocess.DEVNULL, stdout=output_write, stderr=output_write, close_fds=True,
            pass_fds=(report_write,), start_new_session=True, cwd=place, env=tiers.environment(launch.scratch),
        )  # fmt: skip
    except OSError as error:
        os.close(output_read)
        os.close(report_read)
        raise BoxError(f"cannot run a command in the box: {error}") from error
    finally:
        os.close(output_write)
        os.close(report_write)
    output, report = Output(output_read), Output(report_read, kept=1 << 20)
    try:
        timed_out = _wait(process, (output, report), start + seconds)
        returncode = None if timed_out or output.flooded else process.wait()
    finally:
        tiers.end(process)
        for pipe in (output, report):
            pipe.drain()
            pipe.close()
    text = output.tail.decode(errors="replace")
    return Completed(returncode, text, report.tail, clock.now() - start, timed_out, output.flooded)


def _inside(launch: tiers.Launch) -> tuple[str, ...]:
    """The launch's command line, started in the submission's folder."""
    if not launch.prefix:
        return ()
    at = launch.prefix.index("--chdir")
    return (*launch.prefix[: at + 1], launch.folder, *launch.prefix[at + 2 :])


def _wait(process: subprocess.Popen[bytes], pipes: Sequence[Output], deadline: float) -> bool:
    """Drain until the process ends; True when its time ran out."""
    while process.poll() is None:
        left = deadline - clock.now()
        if left <= 0:
            return True
        with selectors.DefaultSelector() as selector:
            for pipe in pipes:
                if pipe.open:
                    selector.register(pipe.fd, selectors.EVENT_READ)
            # a process that closed its pipes can still run: look at it again soon
            selector.select(min(left, 0.05))
        for pipe in pipes:
            pipe.drain()
        if any(pipe.flooded for pipe in pipes):
            return False
    return False
