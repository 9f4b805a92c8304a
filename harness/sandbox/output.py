"""The pipe that the output of a process in the box runs into."""

import os
import select

OUTPUT_KEPT = 64 << 10
OUTPUT_LIMIT = 1 << 20


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

    def last_line(self) -> str:
        """The last line; empty when there is none."""
        return "".join(self.text().strip().splitlines()[-1:])

    def last(self) -> str:
        """The last line in parentheses, to be put after an error; empty when there is none."""
        line = self.last_line()
        return f" ({line})" if line else ""

    def close(self) -> None:
        """Close the pipe."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd, self.open = -1, False

    @property
    def flooded(self) -> bool:
        """Whether more was printed than may be."""
        return self.total > OUTPUT_LIMIT
