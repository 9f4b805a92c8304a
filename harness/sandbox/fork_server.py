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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from harness.errors import BoxError
from harness.model import Tier
from harness.sandbox import visible_files
from harness.sandbox.channel import Channel
from harness.sandbox.implementations import new_sandbox
from harness.sandbox.notices import Notices
from harness.sandbox.output import Output, readable
from harness.sandbox.protocol import Confinement, FileAccess
from harness.sandbox.reply import CallStatus

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
        confinement: what holds it.
    """

    channel: Channel
    notices: Notices | None
    pidfd: int
    confinement: Confinement
    _status: int
    _ended: int | None = field(default=None, init=False)

    def kill(self) -> None:
        """Kill it, and all that is in its namespaces, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        self.wait_status(DEATH_SECONDS)

    def wait_status(self, seconds: float) -> int | None:
        """Its wait status as `os.wait` gives it; None while it lives, or when the fork server is gone."""
        if self._ended is None and readable(self._status, seconds):
            status = os.read(self._status, 16)
            self._ended = int(status) if status.isdigit() else None
        return self._ended

    def close(self) -> None:
        """Kill it and give back everything."""
        self.kill()
        self.channel.close()
        if self.notices is not None:
            self.notices.close()
        os.close(self.pidfd)
        os.close(self._status)
        self.confinement.close()


@dataclass
class _Coming:
    """A worker that was asked for and has not said its first word."""

    channel: Channel
    status: int
    confinement: Confinement
    rlimits: Mapping[str, int]
    undo: contextlib.ExitStack


class ForkServer:
    """The process that workers are forked from, in the box of one target. Start it, fork, close it.

    Args:
        access: what its workers are shown.
        tier: how they are held.
        memory_mib: that each of them may use.
        tasks: threads that each may have.
        ahead: whether the next worker is made while one works, to be there when it is asked for. Not where the one at
            work is timed.

    Attributes:
        bytecode: of each entry, as its first worker compiled it before it ran anything of it; empty where it does not
            compile.
    """

    def __init__(
        self, access: FileAccess, tier: Tier, memory_mib: int, tasks: int = 64, *, ahead: bool = False
    ) -> None:
        self.tier = tier
        self.bytecode: dict[str, NDArray[np.uint8]] = {}
        self._access = access
        self._tasks = tasks
        self._memory_bytes = memory_mib + access.scratch_mib + 256 << 20
        self._sandbox = new_sandbox(tier)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._output: Output | None = None
        self._ahead = ahead
        self._spare: _Coming | None = None

    @property
    def folder(self) -> str:
        """Where the submission's files are inside; known once it was started."""
        return self._sandbox.paths.folder

    def start(self) -> None:
        """Start the process.

        Raises:
            BoxError: it does not start.
        """
        self._sandbox.prepare(self._access, self._memory_bytes, self._tasks + 16, ("CAP_SYS_ADMIN",))
        paths = self._sandbox.paths
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        read, write = os.pipe2(os.O_CLOEXEC)
        self._output = Output(read)
        numbers = (str(theirs.fileno()), str(self._sandbox.keeper))
        try:
            self._process = self._sandbox.spawn(
                (visible_files.interpreter(), "-I", "-B", f"{paths.boot}/forking.py", *numbers),
                stdin=subprocess.DEVNULL, stdout=write, stderr=write,
                pass_fds=(theirs.fileno(),), env=visible_files.environment(paths.scratch),
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
        spare, self._spare = self._spare, None
        if spare is not None and spare.rlimits != rlimits:
            spare.undo.close()
            spare = None
        worker = self._arrived(spare or self._begun(rlimits))
        if self._ahead:
            self._spare = self._begun(rlimits)
        return worker

    def _begun(self, rlimits: Mapping[str, int]) -> _Coming:
        """Ask for a worker, without waiting for it."""
        with contextlib.ExitStack() as undo:
            confinement = self._sandbox.limit("run", rlimits, self._tasks)
            undo.callback(confinement.close)
            place = confinement.scratch
            request = {
                "namespaces": confinement.namespaces,
                "own_proc": confinement.namespaces and confinement.driver,
                "scratch": place,
                "scratch_bytes": self._access.scratch_mib << 20,
                "environment": {"HOME": place, "TMPDIR": place},
                "interpreter": [str(root) for root in visible_files.roots()],
                "links": dict(visible_files.links()),
                "fence": confinement.fence,
            }
            try:
                channel, status = self._asked(request, undo)
            except OSError as error:
                raise BoxError(f"cannot fork a worker in tier {self.tier}: {error}{self._said()}") from error
            return _Coming(channel, status, confinement, rlimits, undo.pop_all())

    def _arrived(self, coming: _Coming) -> WorkerProcess:
        """The worker, behind its fence."""
        channel, confinement = coming.channel, coming.confinement
        with coming.undo as undo:
            try:
                listener = self._greeted(channel)
                if listener >= 0:
                    bounds = confinement.bounds
                    channel.notices = Notices(listener, confinement, bounds.tasks if bounds else None)
                    undo.callback(channel.notices.close)
                pidfd = os.pidfd_open(channel.pid)
            except OSError as error:
                raise BoxError(f"cannot fork a worker in tier {self.tier}: {error}{self._said()}") from error
            channel.bounds = confinement.bounds
            undo.pop_all()
            return WorkerProcess(channel, channel.notices, pidfd, confinement, coming.status)

    def _asked(self, request: Mapping[str, Any], undo: contextlib.ExitStack) -> tuple[Channel, int]:
        """Ask for a worker: its channel, and what its wait status can be read from."""
        own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        output_read, output_write = os.pipe2(os.O_CLOEXEC)
        channel = Channel(own, Output(output_read))
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

    def last_words(self) -> str:
        """The last line that the process printed; empty when there is none."""
        return self._output.last_line() if self._output is not None else ""

    def close(self) -> None:
        """End it with all its workers, and remove what it wrote; does nothing the second time."""
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.undo.close()
        process, self._process = self._process, None
        try:
            self._sandbox.end(process)
        finally:
            if self._control is not None:
                self._control.close()
            if self._output is not None:
                self._output.close()

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


def trial(tier: Tier) -> None:
    """Start a worker in `tier` and end it.

    Raises:
        BoxError: it does not start; in the words of the program that failed, where it had any.
    """
    with ForkServer(FileAccess(visible_files.BOOT), tier, 512) as fork_server:
        try:
            fork_server.fork({}).close()
        except BoxError as error:
            raise BoxError(fork_server.last_words() or str(error)) from error
