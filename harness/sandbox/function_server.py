"""The process that serves functions to answers: trusted code beside the answer's worker, held as that is."""

import itertools
import socket
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness.errors import BoxError
from harness.sandbox.boot import wire
from harness.sandbox.fork_server import ForkServer, WorkerProcess
from harness.sandbox.notices import Notices
from harness.sandbox.reply import CallStatus, ServedUse
from harness.sandbox.warm import LentForkServer

SECONDS = 30.0
"""For trusted code to load, or to say how it was used, on the busiest machine."""


@dataclass
class ServedCall:
    """The functions of one call while it runs.

    Attributes:
        link: the stubs' end of the socket; -1 where the call is given no function.
        use: of each function by name, once the call has ended.
    """

    link: int = -1
    use: Mapping[str, ServedUse] = field(default_factory=dict)


class FunctionServer:
    """Serves the functions of one call after the other, from one process; started when it is first needed.

    Args:
        fork_server: what the process comes from.
        rlimits: its limits.
    """

    def __init__(self, fork_server: ForkServer | LentForkServer, rlimits: Mapping[str, int]) -> None:
        self._fork_server = fork_server
        self._rlimits = rlimits
        self._worker: WorkerProcess | None = None
        self._loaded: set[str] = set()
        self._ids = itertools.count(1)

    @property
    def pid(self) -> int:
        """Its process id; 0 while there is none."""
        return self._worker.channel.pid if self._worker else 0

    @property
    def notices(self) -> Notices | None:
        """What the kernel tells of it."""
        return self._worker.notices if self._worker else None

    @contextmanager
    def serving(self, functions: Sequence[wire.ServedFunction]) -> Iterator[ServedCall]:
        """Serve functions for the length of the block, in which one call of an answer begins and ends.

        Raises:
            BoxError: the process does not start, or ended by itself.
        """
        call = ServedCall()
        if not functions:
            yield call
            return
        try:
            theirs, id = self._begun(functions)
            try:
                call.link = theirs.fileno()
                yield call
            finally:
                theirs.close()
            call.use = self._ended(id)
        except BaseException:  # whatever it does now, it does not wait for the next call
            self.close()
            raise

    def close(self) -> None:
        """End the process; the next call starts another one."""
        worker, self._worker = self._worker, None
        self._loaded.clear()
        if worker is not None:
            worker.close()

    def _begun(self, functions: Sequence[wire.ServedFunction]) -> tuple[socket.socket, int]:
        """The stubs' end of the socket, and the number of the request."""
        if self._worker is None:
            self._worker = self._fork_server.fork(self._rlimits)
        wanted = []
        for one in functions:
            module = f"served_{zlib.crc32(one.source.encode()):08x}"
            if module not in self._loaded:
                self._heard(self._asked({"op": "load", "name": module, "source": one.source}))
                self._loaded.add(module)
            wanted.append([one.name, module, one.factory, list(one.arguments), one.most])
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            return theirs, self._asked({"op": "serve", "functions": wanted}, (ours.fileno(),))

    def _ended(self, id: int) -> Mapping[str, ServedUse]:
        self._asked({"op": "end"})
        return {name: ServedUse(calls, fault, exhausted) for name, calls, fault, exhausted in self._heard(id)}

    def _asked(self, request: Mapping[str, Any], fds: Sequence[int] = ()) -> int:
        """Send a request; its number."""
        assert self._worker is not None
        id = next(self._ids)
        self._worker.channel.send(wire.encode({**request, "id": id}), fds)
        return id

    def _heard(self, id: int) -> Any:
        """The value of the reply to a request."""
        assert self._worker is not None
        reply = self._worker.channel.receive(SECONDS)
        if isinstance(reply, CallStatus) or reply.get("id") != id or "value" not in reply:
            why = reply.value if isinstance(reply, CallStatus) else str(reply.get("raised", "no reply"))
            raise BoxError(f"the process that serves functions failed: {why}{self._worker.channel.output.last()}")
        return reply["value"]
