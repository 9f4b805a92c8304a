"""A user id for the boxes of this process."""

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path

UIDS = range(61_184, 65_520)
"""User ids that distributions give to neither packages nor people; higher ones are special."""
_CHOWN_SETGID_SETUID = 1 << 0 | 1 << 6 | 1 << 7
"""Capabilities needed to give files to another user and to become that user."""


def draw_uid() -> int | None:
    """Return a user id for this process's boxes; None if it cannot change users."""
    # random rather than counted: other graders draw from the same range, and two should not share an id
    return _own_uid(os.getpid()) if os.geteuid() == 0 and may_change_user() else None


@cache
def may_change_user(status: Path = Path("/proc/self")) -> bool:
    """Return whether root can become any of `UIDS`; a user namespace may have a single id."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", (status / "status").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None or ~int(found[1], 16) & _CHOWN_SETGID_SETUID:
        return False
    groups = status / "setgroups"
    if groups.exists() and groups.read_text(encoding="ascii").strip() == "deny":
        return False
    return all(_maps_all_uids(status / name) for name in ("uid_map", "gid_map"))


def _maps_all_uids(ids: Path) -> bool:
    lines = (map(int, line.split()) for line in ids.read_text(encoding="ascii").splitlines())
    return any(first <= UIDS.start and UIDS.stop <= first + count for first, _, count in lines)


def reaches(uid: int, paths: Iterable[str]) -> bool:
    """Return whether a user can traverse `paths` and the folders above."""
    folders = {folder for path in map(Path, paths) for folder in (*path.parents, path)}
    return all(_lets_through(uid, folder) for folder in folders)


@cache
def _own_uid(grader: int) -> int:
    """Draw one id per process, as its boxes share work folders."""
    return secrets.choice(UIDS)


def _lets_through(uid: int, path: Path) -> bool:
    if not path.is_dir():
        return True
    found = path.stat()
    needed = stat.S_IXUSR if found.st_uid == uid else stat.S_IXGRP if found.st_gid == uid else stat.S_IXOTH
    return bool(found.st_mode & needed)


def let_through(folder: Path) -> None:
    """Let the boxes' user traverse a folder of root's."""
    uid = draw_uid()
    if uid is not None:
        os.chown(folder, -1, uid)
        folder.chmod(0o710)


def give(folder: Path, uid: int) -> None:
    """Make a user the owner of a folder and its subfolders."""
    for directory, _, _ in os.walk(folder):
        os.chown(directory, uid, uid, follow_symlinks=False)


def open_up(folder: Path) -> None:
    """Make a copy world-readable, for the box's user."""
    for _, _, names, place in os.fwalk(folder):
        _add_mode(place, 0o555)
        for name in names:
            # a process with write access may swap a file for a link at any moment
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
