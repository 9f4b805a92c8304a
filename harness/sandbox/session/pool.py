"""Warm fork servers, reused across submissions: a start takes as long as probing a short submission.

A fork server runs none of any submission, and its workers' namespaces end with them, so the next submission finds no
trace of the last.
"""

import atexit
import os
import shutil
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.model import Tier
from harness.sandbox.confinement import box_user, scratch
from harness.sandbox.confinement.protocol import FileAccess
from harness.sandbox.session.fork_server import ForkServer, WorkerProcess

NAMESPACED = (Tier.A, Tier.B)
"""Tiers in which a worker's processes and files end with it."""

Settings = tuple[Tier, int, int, int]
"""Settings that interchangeable fork servers share: tier, memory, scratch space, tasks."""
_in_use: ContextVar["WarmForkServers | None"] = ContextVar("warm fork servers", default=None)


class WarmForkServers:
    """A thread-safe pool of fork servers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[Settings, list[_Kept]] = defaultdict(list)

    def lend(self, folder: Path, settings: Settings) -> "LentForkServer":
        """Return a fork server that shows a copy of `folder` until closed.

        Raises:
            BoxError: a new one was needed and did not start.
        """
        with self._lock:
            idle = self._idle[settings]
            kept = idle.pop() if idle else None
        kept = kept or _Kept(settings)
        try:
            kept.show(folder)
        except BaseException:
            kept.close()
            raise
        return LentForkServer(kept, lambda: self._take_back(kept, settings))

    def close(self) -> None:
        """End the idle ones."""
        with self._lock:
            idle = [kept for of_a_kind in self._idle.values() for kept in of_a_kind]
            self._idle.clear()
        for kept in idle:
            kept.close()

    def _take_back(self, kept: "_Kept", settings: Settings) -> None:
        if not kept.empty():
            kept.close()
            return
        with self._lock:
            self._idle[settings].append(kept)


class LentForkServer:
    """A borrowed fork server.

    Attributes:
        bytecode: as `ForkServer.bytecode`.
    """

    def __init__(self, kept: "_Kept", give_back: Callable[[], None]) -> None:
        self.bytecode: dict[str, NDArray[np.uint8]] = {}
        self._kept = kept
        self._give_back: Callable[[], None] | None = give_back

    @property
    def folder(self) -> str:
        """See `ForkServer.folder`."""
        return self._kept.server.folder

    def fork(self, rlimits: Mapping[str, int]) -> WorkerProcess:
        """See `ForkServer.fork`."""
        return self._kept.server.fork(rlimits)

    def close(self) -> None:
        """Give it back, after all its workers are closed; idempotent."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()


class _Kept:
    def __init__(self, settings: Settings) -> None:
        tier, memory_mib, scratch_mib, tasks = settings
        self._room = scratch.make()
        self._shown = self._room / "answer"
        self._shown.mkdir()
        self.server = ForkServer(FileAccess(self._shown, scratch_mib=scratch_mib), tier, memory_mib, tasks, ahead=True)
        try:
            self.server.start()
        except BaseException:
            self.close()
            raise

    def show(self, folder: Path) -> None:
        shutil.copytree(folder, self._shown, symlinks=True, dirs_exist_ok=True)
        if box_user.draw_uid() is not None:
            box_user.open_up(self._shown)

    def empty(self) -> bool:
        for name in os.listdir(self._shown):
            path = self._shown / name
            if path.is_dir() and not path.is_symlink():
                scratch.remove(path)
            else:
                path.unlink()
        return not os.listdir(self._shown)

    def close(self) -> None:
        try:
            self.server.close()
        finally:
            scratch.remove(self._room)


@contextmanager
def keep_warm() -> Iterator[None]:
    """Lend this process's fork servers inside the block."""
    before = _in_use.set(_of_process(os.getpid()))
    try:
        yield
    finally:
        _in_use.reset(before)


def lender() -> WarmForkServers | None:
    """Return the current pool; None outside `keep_warm`."""
    return _in_use.get()


@cache
def _of_process(pid: int) -> WarmForkServers:
    """Return a process's own pool: a forked child must not use its parent's."""
    servers = WarmForkServers()
    atexit.register(servers.close)
    return servers
