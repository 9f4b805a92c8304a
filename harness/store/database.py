"""A SQLite file shared by many processes."""

import contextlib
import errno
import logging
import os
import re
import shlex
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import StoreError
from harness.workspace.stored_files import remedy

T = TypeVar("T")
Action = Callable[[sqlite3.Connection], T]

BUSY_SECONDS = 30.0
"""Seconds to wait for other processes before giving up."""
ROOM = 1 << 16
"""Disk space, in bytes, that SQLite needs beside the file: twice its shared memory."""
CACHE_KIB = 65_536
"""Page cache in KiB, enough for the scattered index pages that thousands of new rows change."""
PAUSE = 0.05
"""Seconds between attempts while another process creates or recovers the file, when SQLite itself does not wait."""
NETWORK = re.compile(
    r"nfs\d*|cifs|smb\d*|smbfs|9p|afs|ncpfs|ceph|lustre|gpfs|beegfs|panfs|fuse\.(sshfs|gluster.*|s3fs|ceph)"
)
"""File systems that several machines may mount at once, where WAL's shared memory is not shared."""
GOES_ON = "then the same command goes on: finished grades are kept"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNTOLD = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Database:
    """One SQLite file, opened anew for each transaction, so that threads, forks and other processes may use it at once.

    Methods raise `StoreError` if the file cannot be used.

    Attributes:
        path: the file; created with its folder on the first write.
        schema: version of `tables`, stored in the file.
        upgrade: migration of an earlier schema, in the transaction that creates the tables.
    """

    path: Path
    schema: int
    tables: str
    upgrade: Action[None] | None = None

    def read(self, action: Action[T], missing: T) -> T:
        """Return the result of `action`, or `missing` without a file."""
        return self._run_patiently("DEFERRED", action) if self.path.exists() else missing

    def write(self, action: Action[T]) -> T:
        """Run `action` in one exclusive transaction, rolled back on an error."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written: {error.strerror}\n  {remedy(error)}") from error
        return self._run_patiently("IMMEDIATE", action)

    def stream(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield a query's rows from one consistent snapshot; none without a file."""
        if not self.path.exists():
            return
        try:
            with self._connect() as connection, _open_transaction(connection, "DEFERRED"):
                yield from connection.execute(query, values)
        except sqlite3.Error as error:
            raise StoreError(self._explain(error)) from error

    def read_cache(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return a query's rows; none without a file, or if it cannot be used."""
        with contextlib.suppress(StoreError):
            return self.read(lambda c: c.execute(query, values).fetchall(), [])
        return []

    def write_cache(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement for each row, if any, unless the file cannot be used."""
        if rows:
            with contextlib.suppress(StoreError):
                self.write(lambda c: c.executemany(statement, rows))

    def compact(self) -> None:
        """Free the space of removed rows, unless others use the file."""
        with contextlib.suppress(sqlite3.Error), self._connect() as connection:
            connection.execute("VACUUM")

    def _run_patiently(self, mode: str, action: Action[T]) -> T:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with self._connect() as connection, _open_transaction(connection, mode):
                    return action(connection)
            except sqlite3.Error as error:
                # SQLite waits by itself, except where that could be a deadlock
                if _extract_code(error) not in _BUSY or time.monotonic() > deadline:
                    raise StoreError(self._explain(error)) from error
                time.sleep(PAUSE)

    @contextlib.contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.path, BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > self.schema:
                raise StoreError(
                    f"{self.path}: schema {version} is newer than this harness knows ({self.schema})\n"
                    f"  update the harness, or start a new file: {self._format_set_aside()}"
                )
            if version < self.schema:
                self._make(connection)
            yield connection

    def _make(self, connection: sqlite3.Connection) -> None:
        shared = network_file_system(self.path)
        if shared:
            _log.warning(
                "note: %s lies on a network file system (%s): kept without WAL, which is slower", self.path, shared
            )
        connection.execute(f"PRAGMA journal_mode = {'DELETE' if shared else 'WAL'}")
        with _open_transaction(connection, "IMMEDIATE"):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == self.schema:  # another process made them meanwhile
                return
            for statement in self.tables.split(";"):
                connection.execute(statement)
            if self.upgrade is not None:
                self.upgrade(connection)
            connection.execute(f"PRAGMA user_version = {self.schema}")

    def _explain(self, error: sqlite3.Error) -> str:
        match _extract_code(error):
            case code if code in _BUSY:
                problem = f"locked by another process for more than {BUSY_SECONDS:g} s"
                cure = f"wait for it to end, or find it: fuser -v {_quote(self.path)}"
            case code if code in _DAMAGED:
                problem, cure = f"is damaged ({error})", f"start a new file: {self._format_set_aside()}"
            # SQLite reports a disk without room for its shared memory as another error
            case code if code == sqlite3.SQLITE_FULL or (code in _UNTOLD and self._disk_is_full()):
                problem = f"cannot be written: {os.strerror(errno.ENOSPC)}"
                cure = f"make room there: df -h {_quote(self.path.parent)}; {GOES_ON}"
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                problem = f"cannot be written: {error}"
                cure = f"make it writable for this user: ls -la {_quote(self.path.parent)}; {GOES_ON}"
            case _:
                problem = f"cannot be used: {error}"
                cure = f"look at the disk: df -h {_quote(self.path.parent)}; {GOES_ON}"
        return f"{self.path}: {problem}\n  {cure}"

    def _disk_is_full(self) -> bool:
        with contextlib.suppress(OSError):
            return shutil.disk_usage(self.path.parent).free < ROOM
        return False

    def _format_set_aside(self) -> str:
        return f"mv {_quote(self.path)} {_quote(self.path)}.old; published records stay as they are"


@contextlib.contextmanager
def _open_transaction(connection: sqlite3.Connection, mode: str) -> Iterator[None]:
    connection.execute(f"BEGIN {mode}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # after some errors SQLite has rolled back already
            connection.execute("ROLLBACK")
        raise


def network_file_system(path: Path, mounts: str | None = None) -> str:
    """Return the type of a path's file system if several machines may mount it at once, else an empty string.

    Args:
        mounts: text of /proc/self/mountinfo; read by default.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    real = os.path.realpath(path)
    longest, found = 0, ""
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), fields.split()[4])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        # the last of several mounts on one point hides the others
        if inside and len(point) >= longest:
            longest, found = len(point), rest.split()[0]
    return found if NETWORK.fullmatch(found) else ""


def _extract_code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _quote(path: Path) -> str:
    return shlex.quote(str(path))
