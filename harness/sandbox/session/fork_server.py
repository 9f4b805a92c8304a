"""Fork servers, which load Python and NumPy once and fork workers."""

import array
import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from harness.errors import BoxError
from harness.model import Tier
from harness.sandbox.confinement import visible_files
from harness.sandbox.confinement.implementations import new_sandbox
from harness.sandbox.confinement.notices import Notices
from harness.sandbox.confinement.protocol import Confinement, FileAccess
from harness.sandbox.session.channel import Channel
from harness.sandbox.session.output import Output, readable
from harness.sandbox.session.reply import CallStatus

START_SECONDS = 30.0
"""Longest wait for an interpreter and NumPy to load, on the busiest machine."""
DEATH_SECONDS = 5.0
"""Longest wait for a killed worker to end, which includes freeing its memory."""


@dataclass
class WorkerProcess:
    """The parent's handle on a worker.

    Attributes:
        notices: seccomp notifications; None if the kernel sends none.
        pidfd: descriptor of the process, safe from reuse of its id.
    """

    channel: Channel
    notices: Notices | None
    pidfd: int
    confinement: Confinement
    _status: int
    _ended: int | None = field(default=None, init=False)

    def kill(self) -> None:
        """Kill the worker and its namespaces, and wait."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        self.wait_status(DEATH_SECONDS)

    def wait_status(self, seconds: float) -> int | None:
        """Return the status of `os.wait`; None while the worker lives, or without a fork server."""
        if self._ended is None and readable(self._status, seconds):
            status = os.read(self._status, 16)
            self._ended = int(status) if status.isdigit() else None
        return self._ended

    def close(self) -> None:
        """Kill the worker and release everything."""
        self.kill()
        self.channel.close()
        if self.notices is not None:
            self.notices.close()
        os.close(self.pidfd)
        os.close(self._status)
        self.confinement.close()


@dataclass
class _Coming:
    channel: Channel
    status: int
    confinement: Confinement
    rlimits: Mapping[str, int]
    undo: contextlib.ExitStack


class ForkServer:
    """The process that workers fork from, in the box of one submission.

    Args:
        memory_mib: memory per worker.
        tasks: threads per worker.
        ahead: true to prepare the next worker while one works, which disturbs timing.

    Attributes:
        bytecode: bytecode by entry, compiled before the submission ran; empty if it does not compile.
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
        """Path of the submission's files inside, once started."""
        return self._sandbox.paths.folder

    def start(self) -> None:
        """Start the process.

        Raises:
            BoxError: it did not start.
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
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=write,
                pass_fds=(theirs.fileno(),),
                env=visible_files.environment(paths.scratch),
            )
        except OSError as error:
            raise BoxError(f"cannot start a worker in tier {self.tier}: {error}") from error
        finally:
            theirs.close()
            os.close(write)

    def fork(self, rlimits: Mapping[str, int]) -> WorkerProcess:
        """Return a new worker behind its fence, with none of the submission loaded.

        Raises:
            BoxError: the worker or its fence failed.
        """
        spare, self._spare = self._spare, None
        if spare is not None and spare.rlimits != rlimits:
            spare.undo.close()
            spare = None
        worker = self._await_worker(spare or self._begin(rlimits))
        if self._ahead:
            self._spare = self._begin(rlimits)
        return worker

    def _begin(self, rlimits: Mapping[str, int]) -> _Coming:
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
                channel, status = self._request_worker(request, undo)
            except OSError as error:
                raise BoxError(f"cannot fork a worker in tier {self.tier}: {error}{self._quote_output()}") from error
            return _Coming(channel, status, confinement, rlimits, undo.pop_all())

    def _await_worker(self, coming: _Coming) -> WorkerProcess:
        channel, confinement = coming.channel, coming.confinement
        with coming.undo as undo:
            try:
                listener = self._await_greeting(channel)
                if listener >= 0:
                    bounds = confinement.bounds
                    channel.notices = Notices(listener, confinement, bounds.tasks if bounds else None)
                    undo.callback(channel.notices.close)
                pidfd = os.pidfd_open(channel.pid)
            except OSError as error:
                raise BoxError(f"cannot fork a worker in tier {self.tier}: {error}{self._quote_output()}") from error
            channel.bounds = confinement.bounds
            undo.pop_all()
            return WorkerProcess(channel, channel.notices, pidfd, confinement, coming.status)

    def _request_worker(self, request: Mapping[str, Any], undo: contextlib.ExitStack) -> tuple[Channel, int]:
        own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        output_read, output_write = os.pipe2(os.O_CLOEXEC)
        channel = Channel(own, Output(output_read))
        undo.callback(channel.close)
        status_read, status_write = os.pipe2(os.O_CLOEXEC)
        undo.callback(os.close, status_read)
        try:
            assert self._control is not None
            fds = array.array("i", (theirs.fileno(), output_write, status_write))
            self._control.sendmsg([json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        finally:
            theirs.close()
            os.close(output_write)
            os.close(status_write)
        return channel, status_read

    def last_words(self) -> str:
        """Return the last line printed."""
        return self._output.last_line() if self._output is not None else ""

    def close(self) -> None:
        """End the process and its workers."""
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

    def _await_greeting(self, channel: Channel) -> int:
        """Return the descriptor for notifications, or -1."""
        answer, fds = channel.first(START_SECONDS)
        if isinstance(answer, CallStatus) or "raised" in answer:
            for fd in fds:
                os.close(fd)
            why = "no word" if isinstance(answer, CallStatus) else f"{answer['raised'][0]}: {answer['raised'][1]}"
            raise BoxError(f"the worker did not start in tier {self.tier}: {why}{self._quote_output()}")
        return fds[0] if fds else -1

    def _quote_output(self) -> str:
        return self._output.last() if self._output is not None else ""


def trial(tier: Tier) -> None:
    """Start a worker in `tier` and end it.

    Raises:
        BoxError: it did not start, in the failing program's words.
    """
    with ForkServer(FileAccess(visible_files.BOOT), tier, 512) as fork_server:
        try:
            fork_server.fork({}).close()
        except BoxError as error:
            raise BoxError(fork_server.last_words() or str(error)) from error
