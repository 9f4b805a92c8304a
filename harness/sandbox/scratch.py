"""Temporary folders that go with the process they belong to, in whatever way it ends.

A keeper, a process of its own, waits for that end and removes what is left. Where it was killed as well, the next
process that sweeps finds the folders by their locks: the kernel drops those of a process that ended.
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
from harness.sandbox import box_user

PREFIX = "harness-run-"
KEEPER = Path(__file__).with_name("keeper.py")
"""The program that removes what a process leaves behind."""
_locks: dict[Path, int] = {}


def make() -> Path:
    """Return a new folder of this process that only it and its boxes can enter."""
    lock = None
    while lock is None:
        folder = Path(tempfile.mkdtemp(prefix=_own_prefix(os.getpid())))
        lock = _lock(folder)  # None where another process has just swept it
    _locks[folder] = lock
    box_user.let_through(folder)
    try:
        _keep(os.getpid(), folder.parent)  # before anything is written
    except BaseException:
        remove(folder)
        raise
    return folder


def remove(folder: Path) -> None:
    """Remove such a folder with all it holds; a missing folder is not an error."""
    with contextlib.suppress(RecursionError):  # boxed code can nest folders deeper than Python follows
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # or close them to their owner
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            words, path = [*command, "--", os.fspath(folder)], {"PATH": os.defpath}
            subprocess.run(words, env=path, stderr=subprocess.DEVNULL, check=False)
    if (lock := _locks.pop(folder, None)) is not None:
        os.close(lock)


@contextmanager
def folder() -> Iterator[Path]:
    """Such a folder for the length of a block."""
    place = make()
    try:
        yield place
    finally:
        remove(place)


def sweep() -> int:
    """Remove folders of this user whose process has ended, and return how many there were."""
    count = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if (lock := _lock(folder)) is not None:
            _locks[folder] = lock  # two processes may sweep at a time
            remove(folder)
            count += 1
    return count


def _lock(folder: Path) -> int | None:
    """A descriptor that holds the lock on a folder of this user; None where another process has it."""
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
def _own_prefix(pid: int) -> str:
    """Draw what the names of a process's folders begin with: another may have its id, in another namespace or later."""
    return f"{PREFIX}{pid}-{secrets.token_hex(4)}-"


@cache
def _keep(pid: int, place: Path) -> None:
    """Start the keeper of this process's folders in `place`."""
    own = os.pidfd_open(pid)
    try:
        # put into the background by a shell, which ends at once: a program that waits for its children has no further
        subprocess.run(
            ("/bin/sh", "-c", '"$@" &', "sh", EXECUTABLE, "-I", "-S", "-B", KEEPER, f"{own}", f"{pid}", place,
             _own_prefix(pid)),
            pass_fds=(own,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, cwd="/", env={}, check=True,
        )  # fmt: skip
    finally:
        os.close(own)
