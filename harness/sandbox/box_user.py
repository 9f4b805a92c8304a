"""The user id that a box gets of its own, and the folders it is given."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path

UIDS = range(61_184, 65_520)
"""User ids that packages and people do not get; those above are special."""


def drawn() -> int | None:
    """A user id for the boxes of this process; None where only root could change to it."""
    # drawn, not counted: other graders take theirs from the same few, and none should meet another's
    return _own_uid(os.getpid()) if os.geteuid() == 0 else None


def reaches(paths: Iterable[str]) -> bool:
    """Whether every user may go down to each of these paths."""
    return all(map(_open_to_all, paths))


@cache
def _own_uid(grader: int) -> int:
    """One for all boxes of a process: what one compiler wrote into a work folder, the next may change."""
    return secrets.choice(UIDS)


@cache
def _open_to_all(path: str) -> bool:
    """Whether every folder down to `path` lets every user through."""
    return all(parent.stat().st_mode & 0o001 for parent in (*Path(path).parents, Path(path)) if parent.is_dir())


def give(folder: Path, uid: int) -> None:
    """Make a user id the owner of a work folder and of the folders laid out in it."""
    for directory, _, _ in os.walk(folder):
        os.chown(directory, uid, uid, follow_symlinks=False)


def open_up(folder: Path) -> None:
    """Let every user read a copy: a private temporary folder is closed to the box's own user id."""
    for _, _, names, place in os.fwalk(folder):
        _add_mode(place, 0o555)
        for name in names:
            # whoever may write there may put a link in a file's place at any moment
            with contextlib.suppress(OSError):
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
                try:
                    _add_mode(file, 0o444)
                finally:
                    os.close(file)


def _add_mode(fd: int, wanted: int) -> None:
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & wanted != wanted:
        os.fchmod(fd, mode | wanted)
