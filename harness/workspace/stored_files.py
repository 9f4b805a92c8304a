"""Stored files, replaced atomically."""

import contextlib
import errno
import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from harness.errors import StoreError
from harness.model import Stored

S = TypeVar("S", bound=Stored)
LARGEST = 64 << 20
"""Largest stored file that is read, in bytes: a hundred times the largest record."""


def read_stored(path: Path, kind: type[S]) -> S:
    """Read one stored JSON file.

    Raises:
        StoreError: it is unreadable, or a newer harness wrote it.
    """
    try:
        text = _content(path)
        try:
            found = kind.from_json(text)
            version = found.schema_version
        except ValidationError:
            found, version = None, json.loads(text).get("schema_version")
            if not isinstance(version, int) or version <= kind.SCHEMA:
                raise
        if found is None or version > kind.SCHEMA:
            raise StoreError(
                f"{path}: schema {version} is newer than this harness knows ({kind.SCHEMA}); update the harness"
            )
        return found
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise StoreError(
            f"{path}: is not a {kind.__name__.lower()}: {reason}\n  harness grade --force makes a new one"
        ) from error


def _content(path: Path) -> bytes:
    # a pipe must not block
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("is no file")
        if about.st_size > LARGEST:
            raise ValueError(f"has {about.st_size:,} bytes, more than {LARGEST:,}")
        return file.read()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` as `replacing` does."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that atomically replaces `path` at the end of the block; a failing block changes nothing.

    File and folder are synced to disk.

    Raises:
        StoreError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{threading.get_ident()}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _flush_folder(path.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}\n  {remedy(error)}") from error


def _flush_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of file systems that cannot sync folders
            raise
    finally:
        os.close(opened)


def remedy(error: OSError) -> str:
    """Return the remedy for a file system error."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            cure = "make room there, or set TMPDIR to a folder with more"
        case errno.EROFS | errno.EACCES | errno.EPERM:
            cure = "make it writable for this user"
        case errno.EEXIST | errno.ENOTDIR:
            cure = "move away the file that stands where a folder belongs"
        case errno.ENOENT:
            cure = "set TMPDIR to a folder that is not cleaned automatically"
        case _:
            cure = "see to it"
    return f"{cure}; then the same command goes on: finished grades are kept"


def _sweep(path: Path) -> None:
    for left in path.parent.glob(f".{path.name}.*"):
        if left.suffix[1:].isdigit() and not Path("/proc", left.suffix[1:]).exists():
            left.unlink(missing_ok=True)
