"""The control socket to a worker and the pipe its output runs into."""

import array
import json
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

from harness.sandbox.boot import wire
from harness.sandbox.notices import Notices
from harness.sandbox.reply import CallStatus
from harness.sandbox.usage import LOOK_SECONDS, ResourceBounds

OUTPUT_KEPT = 64 << 10
OUTPUT_LIMIT = 1 << 20
_CREDENTIALS = struct.Struct("3i")


def readable(fd: int, seconds: float) -> bool:
    """Whether there is something to read, or the other side has hung up, within `seconds`."""
    waiting = select.poll()  # takes any number of descriptor, which `select` does not
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


class Output:
    """Drains a pipe, keeps its tail, and counts what went through."""

    def __init__(self, fd: int, kept: int = OUTPUT_KEPT) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.kept = kept
        self.tail = b""
        self.total = 0
        self.open = True

    def restart(self) -> None:
        """Count anew: the bound is on what one request prints."""
        self.drain()
        self.total = 0

    def drain(self) -> None:
        """Read what is there without waiting."""
        while self.open and self.total <= OUTPUT_LIMIT:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return
            self.open = bool(data)
            self.total += len(data)
            self.tail = (self.tail + data)[-self.kept :]

    def rest(self) -> bytes:
        """What was kept, with what is still there."""
        self.drain()
        return self.tail

    def text(self) -> str:
        """The same as text."""
        return self.rest().decode(errors="replace")

    def last(self) -> str:
        """The last line in parentheses, to be put after an error; empty when there is none."""
        lines = self.text().strip().splitlines()
        return f" ({lines[-1]})" if lines else ""

    def close(self) -> None:
        """Close the pipe."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd, self.open = -1, False

    @property
    def flooded(self) -> bool:
        """Whether more was printed than may be."""
        return self.total > OUTPUT_LIMIT


class Channel:
    """Sends requests and takes replies; what arrives unasked is seen and reported."""

    def __init__(self, control: socket.socket, output: Output) -> None:
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        control.setblocking(False)
        self.control = control
        self.output = output
        self.pid = 0
        self.notices: Notices | None = None
        self.bounds: ResourceBounds | None = None
        self.exceeded = ""

    def first(self, seconds: float) -> tuple[dict[str, Any] | CallStatus, list[int]]:
        """Wait for the first message, said before anything of the submission is loaded, with what it hands over."""
        if not readable(self.control.fileno(), seconds):
            return CallStatus.TIMEOUT, []
        return self._taken()

    def unsolicited(self) -> bool:
        """Whether the worker has spoken without being asked."""
        try:
            return bool(self.control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False
        except OSError:
            return False

    @property
    def open(self) -> bool:
        """Whether the socket is there to be spoken to."""
        return self.control.fileno() >= 0

    def hang_up(self) -> None:
        """Close the socket; what was printed can still be drained."""
        self.control.close()

    def close(self) -> None:
        """Close the socket and the pipe."""
        self.control.close()
        self.output.close()

    def send(self, message: bytes, fds: Sequence[int]) -> bool:
        """Send one request; False when the other side is gone."""
        self.output.restart()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self.control.sendmsg([message], rights)
        except OSError:
            return False
        return True

    def receive(self, seconds: float) -> dict[str, Any] | CallStatus:
        """Wait for one message, draining the worker's output meanwhile."""
        deadline = time.perf_counter() + seconds
        waiting, notices = self._waiting(), self.notices
        while True:
            left = deadline - time.perf_counter()
            if left <= 0:
                return CallStatus.TIMEOUT
            seconds = min(left, LOOK_SECONDS) if self.bounds else left
            ready = {fd for fd, _ in waiting.poll(seconds * 1000)}
            if self._exceeds():
                return CallStatus.RESOURCE_LIMIT
            if self.output.fd in ready:
                self.output.drain()
                if self.output.flooded:
                    return CallStatus.OUTPUT_LIMIT
                if not self.output.open:
                    waiting.unregister(self.output.fd)
            if notices is not None and notices.fd in ready:
                notices.serve()
            if self.control.fileno() in ready:
                answer, fds = self._taken()
                for fd in fds:
                    os.close(fd)
                return CallStatus.PROTOCOL_VIOLATION if fds else answer

    def _waiting(self) -> select.poll:
        """What waits for all that the worker may say; made for each message, as it costs no call of the system."""
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        if self.output.open:
            waiting.register(self.output.fd, select.POLLIN)
        if self.notices is not None and self.notices.fd >= 0:
            waiting.register(self.notices.fd, select.POLLIN)
        return waiting

    def _exceeds(self) -> bool:
        if self.bounds is not None:
            self.exceeded = self.bounds.exceeded(self.pid)
        return bool(self.exceeded)

    def _taken(self) -> tuple[dict[str, Any] | CallStatus, list[int]]:
        """One message, and the descriptors that came with it."""
        space = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(16 * 4)
        try:
            data, ancillary, flags, _ = self.control.recvmsg(wire.MESSAGE_LIMIT + 1, space, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return CallStatus.CRASHED, []
        foreign = bool(flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC))
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
            message = _parsed(data)
        except (ValueError, RecursionError):
            return CallStatus.PROTOCOL_VIOLATION, fds
        return (message if isinstance(message, dict) else CallStatus.PROTOCOL_VIOLATION), fds


def _parsed(data: bytes) -> Any:
    """The JSON of a message; half a surrogate pair, which nothing can print or keep, becomes a question mark."""
    if data.isascii() and b"\\" not in data:  # there can be none
        return json.loads(data)
    return json.loads(json.dumps(json.loads(data), ensure_ascii=False).encode(errors="replace"))
