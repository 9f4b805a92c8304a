"""Sealed memory files: how bytes reach the worker and come back without either side sharing a page later."""

import errno
import fcntl
import os
import time
from types import TracebackType
from typing import Self

from harness.sandbox.boot import wire

AT_ONCE = 0.1
"""The kernel waits 150 ms for pages that are in use, and not at all for a mapping; in seconds."""
PATIENCE = 2.0
"""How long pages may stay in use, in seconds."""


class StillWritable(Exception):
    """The worker can still write to its output after it replied."""


class MemoryFile:
    """One anonymous memory file, closed when its block ends."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.size = size

    @classmethod
    def of(cls, arena: wire.Arena) -> Self:
        """An input: filled with the arena's arrays, then sealed against every change."""
        file = cls._make("input", arena.size)
        arena.write(file.fd)
        file._seal(fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        return file

    @classmethod
    def blank(cls, size: int) -> Self:
        """An output of exactly `size` bytes, its pages in place before any clock starts."""
        file = cls._make("output", size)
        if size:
            os.posix_fallocate(file.fd, 0, size)
        fcntl.fcntl(file.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
        return file

    @classmethod
    def _make(cls, name: str, size: int) -> Self:
        fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        return cls(fd, size)

    def freeze(self) -> None:
        """Forbid further writes.

        Raises:
            StillWritable: somebody could still write, through a mapping or later than `PATIENCE`.
        """
        self._seal(fcntl.F_SEAL_WRITE)

    def _seal(self, seals: int) -> None:
        """Add seals, of which one forbids writing.

        A writable mapping is refused at once. Where the kernel waited, the pages were in its own hands, as while it
        looks for memory to reclaim, and it is asked again.

        Raises:
            StillWritable: somebody can write, through a mapping or for longer than `PATIENCE`.
        """
        first = time.monotonic()
        while True:
            asked = time.monotonic()
            try:
                fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
            else:
                return
            now = time.monotonic()
            if now - asked < AT_ONCE or now - first > PATIENCE:
                raise StillWritable

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.fd)
