"""Sealed memory files that carry arrays to and from the worker; no memory stays shared."""

import errno
import fcntl
import os
import time
from typing import Self

from harness.sandbox.inside import wire

AT_ONCE = 0.1
"""Seconds within which the kernel refuses a seal because of a mapping; for pages in use it first waits 150 ms."""
PATIENCE = 2.0
"""Longest time that pages may stay in use, in seconds."""


class StillWritable(Exception):
    """The worker can still write to its output."""


class MemoryFile:
    """One anonymous memory file."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.size = size

    @classmethod
    def of(cls, arena: wire.Arena) -> Self:
        """Create an input, sealed against every change."""
        file = cls._make("input", arena.size)
        arena.write(file.fd)
        file._seal(fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        return file

    @classmethod
    def blank(cls, size: int) -> Self:
        """Create an output, its pages allocated before any clock starts."""
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
            StillWritable: see `_seal`.
        """
        self._seal(fcntl.F_SEAL_WRITE)

    def _seal(self, seals: int) -> None:
        """Add seals, including one against writes.

        The kernel refuses a writable mapping at once. If it waits first, it uses the pages itself: try again then.

        Raises:
            StillWritable: a mapping is writable, or pages stay in use beyond `PATIENCE`.
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

    def __exit__(self, *exception: object) -> None:
        os.close(self.fd)
