"""Snapshots of submissions: regular files only, each read once and hashed."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from harness.errors import FilesError
from harness.model import ASKED_FILE, Location
from harness.model.submissions.file_names import IGNORED
from harness.sandbox.confinement import scratch

MAX_FILES = 500
MAX_BYTES = 32 << 20
MAX_PATH = 400
"""Longest path of a file inside the submission, in bytes."""


@dataclass(frozen=True)
class Snapshot:
    """A private copy of a submission's folder.

    Attributes:
        hashes: SHA-256 by relative path.
    """

    path: Path
    hashes: dict[str, str]


@contextmanager
def snapshot(folder: Path) -> Iterator[Snapshot]:
    """Copy `folder` to a temporary place during the block.

    Raises:
        FilesError: it contains a link, a device, an unreadable file, or too much.
    """
    with scratch.folder() as place:
        yield Snapshot(place, _copy(folder, place))


def hash_folder(folder: Path) -> dict[str, str]:
    """Return each file's SHA-256 by relative path.

    Raises:
        FilesError: see `snapshot`.
    """
    return {name: hashlib.sha256(data).hexdigest() for name, data in _files(folder)}


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return each file's bytes by relative path.

    Raises:
        FilesError: see `snapshot`.
    """
    return dict(_files(folder))


def has_line(folder: Path, location: Location) -> bool:
    """Return whether the folder has a location."""
    path = folder / location.file
    if not path.is_file():
        return False
    # Latin-1 decodes any bytes, and a newline ends a line in every language here
    return location.line is None or location.line <= path.read_text(encoding="latin-1").count("\n") + 1


def _copy(folder: Path, place: Path) -> dict[str, str]:
    hashes = {}
    for name, data in _files(folder):
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        hashes[name] = hashlib.sha256(data).hexdigest()
    for directory, _, names in os.walk(place):
        for name in names:
            os.chmod(os.path.join(directory, name), 0o444)
        os.chmod(directory, 0o755)
    return hashes


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    total = 0
    for count, path in enumerate(_paths(folder), 1):
        data = _read(path)
        total += len(data)
        if count > MAX_FILES or total > MAX_BYTES:
            raise FilesError(
                folder, f"holds over {MAX_FILES} files or {MAX_BYTES >> 20} MiB; leave out what is not the answer"
            )
        yield path.relative_to(folder).as_posix(), data


def _paths(folder: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(f for f in folders if f not in IGNORED)
        for name in sorted((*folders, *names)):
            path = Path(directory, name)
            if len(os.fsencode(path.relative_to(folder))) > MAX_PATH:
                raise FilesError(folder, f"holds a path of over {MAX_PATH} bytes: {name[:40]!r} is too deep down")
            if "\\" in name:
                raise FilesError(folder, f"holds the name {name!r}: a backslash parts folders on other systems")
            mode = path.lstat().st_mode
            if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
                raise FilesError(path, "is a link or a special file; a submission holds regular files only")
            if stat.S_ISREG(mode) and path.suffix != ".pyc" and path != folder / ASKED_FILE:
                yield path


def _read(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        _refuse(error)
    with os.fdopen(fd, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _refuse(error: OSError) -> NoReturn:
    raise FilesError(error.filename, f"cannot be read: {error.strerror}") from error
