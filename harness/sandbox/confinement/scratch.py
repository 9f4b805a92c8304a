"""Temporary folders that disappear with their process, however it ends.

A keeper process removes them. If it was killed too, the next sweep finds them by their dropped locks.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from harness.interpreter import EXECUTABLE
from harness.sandbox.confinement import box_user

PREFIX = "harness-run-"
KEEPER = Path(__file__).with_name("keeper.py")
"""Program that removes an ended process's remains."""
_locks: dict[Path, int] = {}


def make() -> Path:
    """Create a folder that only this process and its boxes can enter."""
    lock = None
    while lock is None:
        folder = Path(tempfile.mkdtemp(prefix=_draw_prefix(os.getpid())))
        lock = _lock(folder)  # None if another process has just swept it
    _locks[folder] = lock
    box_user.let_through(folder)
    try:
        _keep(os.getpid(), folder.parent)  # before anything is written
    except BaseException:
        remove(folder)
        raise
    return folder


def remove(folder: Path) -> None:
    """Remove such a folder, if present."""
    with contextlib.suppress(RecursionError):  # boxed code can nest folders deeper than Python recurses
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # or remove their owner's permissions
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            words, path = [*command, "--", os.fspath(folder)], {"PATH": os.defpath}
            subprocess.run(words, env=path, stderr=subprocess.DEVNULL, check=False)
    if (lock := _locks.pop(folder, None)) is not None:
        os.close(lock)


@contextmanager
def folder() -> Iterator[Path]:
    """Create such a folder for a block."""
    place = make()
    try:
        yield place
    finally:
        remove(place)


def sweep() -> int:
    """Remove this user's folders of ended processes, and return their number."""
    count = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if (lock := _lock(folder)) is not None:
            _locks[folder] = lock  # another process may sweep at the same time
            remove(folder)
            count += 1
    return count


def _lock(folder: Path) -> int | None:
    """Lock a folder of this user; None if another process holds it."""
    users = {os.getuid(), *(box_user.UIDS if os.getuid() == 0 else ())}
    with contextlib.ExitStack() as undo:
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            undo.callback(os.close, fd)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        found = os.fstat(fd)
        if found.st_uid not in users or found.st_nlink == 0:
            return None
        undo.pop_all()
        return fd


@cache
def _draw_prefix(pid: int) -> str:
    """Draw a random prefix: another process may have this id, later or in another namespace."""
    return f"{PREFIX}{pid}-{secrets.token_hex(4)}-"


@cache
def _keep(pid: int, place: Path) -> None:
    own = os.pidfd_open(pid)
    try:
        # a shell starts it in the background and ends: this process, which may wait for all its children, gains none
        keeper = (EXECUTABLE, "-I", "-S", "-B", KEEPER, f"{own}", f"{pid}", place, _draw_prefix(pid))
        subprocess.run(
            ("/bin/sh", "-c", '"$@" &', "sh", *keeper),
            pass_fds=(own,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={},
            check=True,
        )
    finally:
        os.close(own)
