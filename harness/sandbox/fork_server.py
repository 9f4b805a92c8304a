"""Workers by forking: one process a submission loads the interpreter and NumPy, each worker is a child of it."""

import array
import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from harness.errors import BoxError
from harness.sandbox import launch, scratch, tiers
from harness.sandbox.channel import Channel, Output, readable
from harness.sandbox.notices import Notices
from harness.sandbox.reply import CallStatus
from harness.sandbox.spawning import end, spawn
from harness.sandbox.usage import ResourceBounds

if TYPE_CHECKING:
    from harness.sandbox.cgroup import Cgroup

START_SECONDS = 30.0
"""For an interpreter and NumPy to load, on the busiest machine."""
DEATH_SECONDS = 5.0
"""For a killed worker to be gone; its memory is freed on the way."""


@dataclass
class WorkerProcess:
    """A forked worker: what its parent holds of it.

    Attributes:
        channel: the control socket and the output.
        notices: what the kernel tells of it; None where it tells nothing.
        pidfd: names the process, even when its number is given away again.
        scratch: its own writable folder, where none is mounted for it.
    """

    channel: Channel
    notices: Notices | None
    pidfd: int
    scratch: Path | None
    _status: int
    _ended: int | None = field(default=None, init=False)

    def kill(self) -> None:
        """Kill it, and all that is in its namespaces, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        self.wait_status(DEATH_SECONDS)

    def wait_status(self, seconds: float) -> int | None:
        """Its wait status as `os.wait` gives it; None while it lives, or when nobody is left to say."""
        if self._ended is None and readable(self._status, seconds):
            told = os.read(self._status, 16)
            self._ended = int(told) if told.isdigit() else None
        return self._ended

    def close(self) -> None:
        """Kill it and give back everything."""
        self.kill()
        self.channel.close()
        if self.notices is not None:
            self.notices.close()
        os.close(self.pidfd)
        os.close(self._status)
        if self.scratch is not None:
            scratch.remove(self.scratch)


class ForkServer:
    """The process that workers are forked from, in the box of one target. Start it, fork, close it."""

    def __init__(self, placement: launch.Placement, tier: tiers.Tier, memory_mib: int, processes: int = 64) -> None:
        self.placement = placement
        self.tier = tier
        self._processes = processes
        self._room = (memory_mib + placement.scratch_mib + 256 << 20, processes + 16)
        self._scratch = scratch.make()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._output: Output | None = None
        self._cgroup: Cgroup | None = None
        self._launch: launch.Launch | None = None

    @property
    def launch(self) -> launch.Launch:
        """Paths that hold inside; known once it was started."""
        assert self._launch is not None
        return self._launch

    def start(self) -> None:
        """Start the process.

        Raises:
            BoxError: it does not start.
        """
        self._launch = launch.prepare(self.tier, self.placement, self._scratch, ("CAP_SYS_ADMIN",))
        prefix = self._launch.prefix
        if self.tier is tiers.Tier.A:
            from harness.sandbox import cgroup

            self._cgroup = cgroup.make(*self._room)
            prefix = (*self._cgroup.enter_prefix(), *prefix)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        read, write = os.pipe2(os.O_CLOEXEC)
        self._output = Output(read)
        guardian = "0" if self.tier.namespaces else str(os.getpid())
        program = (launch.interpreter(), "-I", "-B", f"{self._launch.boot}/forking.py", str(theirs.fileno()), guardian)
        try:
            self._process = spawn(
                (*prefix, *program), stdin=subprocess.DEVNULL, stdout=write, stderr=write,
                pass_fds=(theirs.fileno(),), env=launch.environment(self._launch.scratch),
            )  # fmt: skip
        except OSError as error:
            raise BoxError(f"cannot start a worker in tier {self.tier}: {error}") from error
        finally:
            theirs.close()
            os.close(write)

    def fork(self, rlimits: Mapping[str, int]) -> WorkerProcess:
        """A new worker behind its fence; it has seen nothing of the submission yet.

        Raises:
            BoxError: it did not come, or its fence does not stand.
        """
        with contextlib.ExitStack() as undo:
            room = None if self.tier.namespaces else self._own_scratch()
            if room is not None:
                undo.callback(scratch.remove, room)
            place = str(room or self.launch.scratch)
            request = {
                "namespaces": self.tier.namespaces,
                "scratch": place,
                "scratch_bytes": self.placement.scratch_mib << 20,
                "environment": {"HOME": place, "TMPDIR": place},
                "interpreter": [str(root) for root in launch.roots()],
                "fence": self.launch.fence("run", rlimits, place),
            }
            try:
                channel, status = self._asked(request, undo)
                listener = self._greeted(channel)
                if listener >= 0:
                    channel.notices = Notices(listener, (*self.launch.shown, place))
                    undo.callback(channel.notices.close)
                pidfd = os.pidfd_open(channel.pid)
            except OSError as error:
                raise BoxError(f"cannot fork a worker in tier {self.tier}: {error}{self._said()}") from error
            if room is not None:
                channel.bounds = ResourceBounds(room, self.placement.scratch_mib << 20, self._processes)
            undo.pop_all()
            return WorkerProcess(channel, channel.notices, pidfd, room, status)

    def _asked(self, request: Mapping[str, Any], undo: contextlib.ExitStack) -> tuple[Channel, int]:
        """Ask for a worker: its channel, and what its wait status can be read from."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        output_read, output_write = os.pipe2(os.O_CLOEXEC)
        channel = Channel(ours, Output(output_read))
        undo.callback(channel.close)
        status_read, status_write = os.pipe2(os.O_CLOEXEC)
        undo.callback(os.close, status_read)
        try:
            self._send(json.dumps(request).encode(), (theirs.fileno(), output_write, status_write))
        finally:
            theirs.close()
            os.close(output_write)
            os.close(status_write)
        return channel, status_read

    def close(self) -> None:
        """End it with all its workers, and remove what it wrote; does nothing the second time."""
        process, self._process = self._process, None
        if process is not None:
            end(process)
        if self._control is not None:
            self._control.close()
        if self._output is not None:
            self._output.close()
        scratch.remove(self._scratch)
        group, self._cgroup = self._cgroup, None
        if group is not None:
            group.remove()

    def __enter__(self) -> Self:
        if self._process is None:
            try:
                self.start()
            except BaseException:
                self.close()
                raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _own_scratch(self) -> Path:
        room = scratch.make()
        if self.launch.uid is not None:
            os.chown(room, self.launch.uid, self.launch.uid)
        return room

    def _send(self, message: bytes, fds: Sequence[int]) -> None:
        assert self._control is not None
        self._control.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])

    def _greeted(self, channel: Channel) -> int:
        """Wait for the worker's first word: the descriptor of its notifications, or -1."""
        answer, fds = channel.first(START_SECONDS)
        if isinstance(answer, CallStatus) or "raised" in answer:
            for fd in fds:
                os.close(fd)
            why = "no word" if isinstance(answer, CallStatus) else f"{answer['raised'][0]}: {answer['raised'][1]}"
            raise BoxError(f"the worker did not start in tier {self.tier}: {why}{self._said()}")
        return fds[0] if fds else -1

    def _said(self) -> str:
        return self._output.last() if self._output is not None else ""


def trial(tier: tiers.Tier) -> None:
    """Start a worker in `tier` and end it.

    Raises:
        BoxError: it does not start.
    """
    with ForkServer(launch.Placement(launch.BOOT), tier, 512) as fork_server:
        fork_server.fork({}).close()
