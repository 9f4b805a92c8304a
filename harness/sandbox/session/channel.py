"""The control socket to a worker."""

import array
import json
import os
import select
import socket
import struct
import time
from collections.abc import Iterable, Sequence
from typing import Any

from harness.sandbox.accounting.resource_bounds import LOOK_SECONDS, ResourceBounds
from harness.sandbox.confinement.notices import Notices
from harness.sandbox.inside import wire
from harness.sandbox.session.output import Output, readable
from harness.sandbox.session.reply import CallStatus

_CREDENTIALS = struct.Struct("3i")
_ROOM = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(16 * 4)
_CUT = int(socket.MSG_TRUNC | socket.MSG_CTRUNC)


class Channel:
    """Sends requests and receives replies.

    Attributes:
        beside: seccomp notifications of a process that the worker may wait for.
    """

    def __init__(self, control: socket.socket, output: Output) -> None:
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        control.setblocking(False)
        self.control = control
        self.output = output
        self.pid = 0
        self.notices: Notices | None = None
        self.beside: Notices | None = None
        self.bounds: ResourceBounds | None = None
        self.exceeded = ""

    def first(self, seconds: float) -> tuple[dict[str, Any] | CallStatus, list[int]]:
        """Wait for the first message, sent before the submission is loaded."""
        if not readable(self.control.fileno(), seconds):
            return CallStatus.TIMEOUT, []
        return self._take()

    def has_stray_message(self) -> bool:
        """Return whether the worker spoke without a request."""
        try:
            return bool(self.control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except OSError:  # nothing there, or the worker is gone
            return False

    @property
    def open(self) -> bool:
        """True if the socket is open."""
        return self.control.fileno() >= 0

    def hang_up(self) -> None:
        """Close the socket, but not the output."""
        self.control.close()

    def close(self) -> None:
        """Close the socket and the pipe."""
        self.control.close()
        self.output.close()

    def send(self, message: bytes, fds: Sequence[int]) -> bool:
        """Send one request; return False if the worker is gone."""
        self.output.restart()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self.control.sendmsg([message], rights)
        except OSError:
            return False
        return True

    def receive(self, seconds: float) -> dict[str, Any] | CallStatus:
        """Wait for one message; drain the output meanwhile."""
        deadline = time.perf_counter() + seconds
        told = {notices.fd: notices for notices in (self.notices, self.beside) if notices and notices.fd >= 0}
        waiting = self._make_poll(told)
        while True:
            left = deadline - time.perf_counter()
            if left <= 0:
                return CallStatus.TIMEOUT
            seconds = min(left, LOOK_SECONDS) if self.bounds else left
            ready = {fd for fd, _ in waiting.poll(seconds * 1000)}
            if self.bounds is not None and (found := self.bounds.find_excess(self.pid)):
                self.exceeded = found
                return CallStatus.RESOURCE_LIMIT
            if self.output.fd in ready:
                self.output.drain()
                if self.output.flooded:
                    return CallStatus.OUTPUT_LIMIT
                if not self.output.open:
                    waiting.unregister(self.output.fd)
            for fd in ready & told.keys():
                told[fd].serve()
            if self.control.fileno() in ready:
                answer, fds = self._take()
                for fd in fds:
                    os.close(fd)
                return CallStatus.PROTOCOL_VIOLATION if fds else answer

    def _make_poll(self, told: Iterable[int]) -> select.poll:
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        if self.output.open:
            waiting.register(self.output.fd, select.POLLIN)
        for fd in told:
            waiting.register(fd, select.POLLIN)
        return waiting

    def _take(self) -> tuple[dict[str, Any] | CallStatus, list[int]]:
        try:
            data, ancillary, flags, _ = self.control.recvmsg(wire.MESSAGE_LIMIT + 1, _ROOM, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return CallStatus.CRASHED, []
        foreign = bool(flags & _CUT)
        fds: list[int] = []
        for level, kind, raw in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                pid = _CREDENTIALS.unpack(raw)[0]
                foreign |= self.pid not in (0, pid)
                self.pid = self.pid or pid
            elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds += array.array("i", raw[: len(raw) // 4 * 4])
        if not data:
            return CallStatus.CRASHED, fds
        if foreign:
            return CallStatus.PROTOCOL_VIOLATION, fds
        try:
            message = _parse(data)
        except (ValueError, RecursionError):
            return CallStatus.PROTOCOL_VIOLATION, fds
        return (message if isinstance(message, dict) else CallStatus.PROTOCOL_VIOLATION), fds


def _parse(data: bytes) -> Any:
    """Parse JSON; replace lone surrogates, which cannot be encoded."""
    if data.isascii() and b"\\" not in data:  # no escape, so no surrogate
        return json.loads(data)
    return json.loads(json.dumps(json.loads(data), ensure_ascii=False).encode(errors="replace"))
