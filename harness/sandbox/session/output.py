"""The output pipe of a process in the box."""

import os
import select

OUTPUT_KEPT = 64 << 10
OUTPUT_LIMIT = 1 << 20


def readable(fd: int, seconds: float) -> bool:
    """Return whether `fd` has data or was hung up within `seconds`."""
    waiting = select.poll()  # `select` is limited to small descriptors
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


class Output:
    """Drains a pipe, keeps the tail, counts the bytes."""

    def __init__(self, fd: int, kept: int = OUTPUT_KEPT) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.kept = kept
        self.tail = b""
        self.total = 0
        self.open = True

    def restart(self) -> None:
        """Reset the count, which is per request."""
        self.drain()
        self.total = 0

    def drain(self) -> None:
        """Read available data."""
        while self.open and self.total <= OUTPUT_LIMIT:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return
            self.open = bool(data)
            self.total += len(data)
            self.tail = (self.tail + data)[-self.kept :]

    def rest(self) -> bytes:
        """Drain the pipe; return the tail."""
        self.drain()
        return self.tail

    def text(self) -> str:
        """Return `rest` as text."""
        return self.rest().decode(errors="replace")

    def last_line(self) -> str:
        """Return the last line, or the empty string."""
        return "".join(self.text().strip().splitlines()[-1:])

    def last(self) -> str:
        """Return the last line in parentheses."""
        line = self.last_line()
        return f" ({line})" if line else ""

    def close(self) -> None:
        """Close the pipe."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd, self.open = -1, False

    @property
    def flooded(self) -> bool:
        """True if the output exceeds the limit."""
        return self.total > OUTPUT_LIMIT
