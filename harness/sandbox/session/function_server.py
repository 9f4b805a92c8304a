"""Trusted functions for submissions, confined in a process beside the worker."""

import itertools
import socket
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness.errors import BoxError
from harness.sandbox.confinement.notices import Notices
from harness.sandbox.inside import wire
from harness.sandbox.session.fork_server import ForkServer, WorkerProcess
from harness.sandbox.session.pool import LentForkServer
from harness.sandbox.session.reply import CallStatus, ServedUse

SECONDS = 30.0
"""Longest wait for trusted code to load or to report its use, on the busiest machine."""


@dataclass
class ServedCall:
    """The functions of one call.

    Attributes:
        link: the stubs' end of the socket, or -1.
        use: use by function name, after the call.
    """

    link: int = -1
    use: Mapping[str, ServedUse] = field(default_factory=dict)


class FunctionServer:
    """Serves call after call from one process, started on first use."""

    def __init__(self, fork_server: ForkServer | LentForkServer, rlimits: Mapping[str, int]) -> None:
        self._fork_server = fork_server
        self._rlimits = rlimits
        self._worker: WorkerProcess | None = None
        self._loaded: set[str] = set()
        self._ids = itertools.count(1)

    @property
    def pid(self) -> int:
        """Process id; 0 before the start."""
        return self._worker.channel.pid if self._worker else 0

    @property
    def notices(self) -> Notices | None:
        """Its seccomp notifications."""
        return self._worker.notices if self._worker else None

    @contextmanager
    def serving(self, functions: Sequence[wire.ServedFunction]) -> Iterator[ServedCall]:
        """Serve functions during the block, around one call.

        Raises:
            BoxError: the process did not start, or ended by itself.
        """
        call = ServedCall()
        if not functions:
            yield call
            return
        try:
            theirs, id = self._begin_call(functions)
            try:
                call.link = theirs.fileno()
                yield call
            finally:
                theirs.close()
            self._request({"op": "end"})
            call.use = {name: ServedUse(*use) for name, *use in self._receive_value(id)}
        except BaseException:  # the process may still be busy with this call
            self.close()
            raise

    def close(self) -> None:
        """End the process; the next call starts another."""
        worker, self._worker = self._worker, None
        self._loaded.clear()
        if worker is not None:
            worker.close()

    def _begin_call(self, functions: Sequence[wire.ServedFunction]) -> tuple[socket.socket, int]:
        if self._worker is None:
            self._worker = self._fork_server.fork(self._rlimits)
        wanted = []
        for one in functions:
            module = f"served_{zlib.crc32(one.source.encode()):08x}"
            if module not in self._loaded:
                self._receive_value(self._request({"op": "load", "name": module, "source": one.source}))
                self._loaded.add(module)
            wanted.append([one.name, module, one.factory, list(one.arguments), one.most])
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            return theirs, self._request({"op": "serve", "functions": wanted}, (ours.fileno(),))

    def _request(self, request: Mapping[str, Any], fds: Sequence[int] = ()) -> int:
        assert self._worker is not None
        id = next(self._ids)
        self._worker.channel.send(wire.encode({**request, "id": id}), fds)
        return id

    def _receive_value(self, id: int) -> Any:
        assert self._worker is not None
        reply = self._worker.channel.receive(SECONDS)
        if isinstance(reply, CallStatus) or reply.get("id") != id or "value" not in reply:
            why = reply.value if isinstance(reply, CallStatus) else str(reply.get("raised", "no reply"))
            raise BoxError(f"the process that serves functions failed: {why}{self._worker.channel.output.last()}")
        return reply["value"]
