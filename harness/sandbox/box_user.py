"""The user id that a box gets of its own, and the folders it is given."""

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path

UIDS = range(61_184, 65_520)
"""User ids that packages and people do not get; those above are special."""
_CHOWN_SETGID_SETUID = 1 << 0 | 1 << 6 | 1 << 7
"""Capabilities that giving files to another user and becoming that user take."""


def drawn() -> int | None:
    """A user id for the boxes of this process; None where it may not change to any."""
    # drawn, not counted: other graders take theirs from the same few, and none should meet another's
    return _own_uid(os.getpid()) if os.geteuid() == 0 and may_change_user() else None


@cache
def may_change_user(status: Path = Path("/proc/self")) -> bool:
    """Return whether root here may become any of `UIDS`: in a user namespace it often has one id and no other.

    Args:
        status: folder with this process's `status`, `uid_map`, `gid_map` and `setgroups`.
    """
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", (status / "status").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None or ~int(found[1], 16) & _CHOWN_SETGID_SETUID:
        return False
    groups = status / "setgroups"
    if groups.exists() and groups.read_text(encoding="ascii").strip() == "deny":
        return False
    return all(_maps(status / name) for name in ("uid_map", "gid_map"))


def _maps(ids: Path) -> bool:
    """Return whether a map of ids has all of `UIDS` in one line."""
    lines = (map(int, line.split()) for line in ids.read_text(encoding="ascii").splitlines())
    return any(first <= UIDS.start and UIDS.stop <= first + count for first, _, count in lines)


def reaches(uid: int, paths: Iterable[str]) -> bool:
    """Return whether the user and group `uid` may go down to each of these paths."""
    folders = {folder for path in map(Path, paths) for folder in (*path.parents, path)}
    return all(_lets_through(uid, folder) for folder in folders)


@cache
def _own_uid(grader: int) -> int:
    """One for all boxes of a process: what one compiler wrote into a work folder, the next may change."""
    return secrets.choice(UIDS)


def _lets_through(uid: int, path: Path) -> bool:
    if not path.is_dir():
        return True
    found = path.stat()
    needed = stat.S_IXUSR if found.st_uid == uid else stat.S_IXGRP if found.st_gid == uid else stat.S_IXOTH
    return bool(found.st_mode & needed)


def let_through(folder: Path) -> None:
    """Let the boxes' user of this process go through a folder of root's that is closed to everybody else."""
    uid = drawn()
    if uid is not None:
        os.chown(folder, -1, uid)
        folder.chmod(0o710)


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
