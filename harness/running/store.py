"""Where records are kept: those made here in one SQLite file, the published ones as JSON files indexed in it."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from sqlite3 import Connection

from harness.model import Record, Status
from harness.running import failing_seeds, published_records
from harness.running.database import Database
from harness.workspace import Workspace, write_atomically

SCHEMA = 3
TABLES = """
CREATE TABLE IF NOT EXISTS records (
    key TEXT NOT NULL, reusable INTEGER NOT NULL, model TEXT NOT NULL, challenge TEXT NOT NULL,
    attempt INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (key, reusable)
);
CREATE INDEX IF NOT EXISTS records_by_name ON records (model, challenge, attempt)
"""


class Store:
    """The records of a workspace.

    Records made on this machine lie in `.harness/records.sqlite`, the latest of each content key; only they are
    reused. Those under reports/records/ may come from anywhere: they are for reading.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._database = Database(
            workspace.cache_folder / "records.sqlite",
            SCHEMA,
            f"{TABLES};{published_records.TABLES};{failing_seeds.TABLES}",
        )

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self._database.path

    @property
    def published(self) -> published_records.PublishedRecords:
        """The records under reports/records/."""
        return published_records.PublishedRecords(self._workspace, self._database)

    def failing_seeds(self, challenge: str, hashes: Mapping[str, str]) -> failing_seeds.FailingSeeds:
        """The seeds that once failed an answer to `challenge` of these files (SHA-256 by relative path)."""
        return failing_seeds.FailingSeeds(self._database, challenge, hashes)

    def find(self, key: str) -> Record | None:
        """The record made on this machine under this key, where it may stand for a new grade.

        Raises:
            StoreError: the store cannot be read.
        """

        def body(connection: Connection) -> bytes | None:
            row = connection.execute("SELECT body FROM records WHERE key = ? AND reusable", (key,)).fetchone()
            return row[0] if row else None

        found = self._database.read(body, None)
        try:
            return None if found is None else Record.from_json(zlib.decompress(found))
        except (ValueError, zlib.error):  # written by another version of the harness, or damaged: grade again
            return None

    def add(self, record: Record, attempt: int = 1) -> None:
        """Keep a record made on this machine in place of an earlier one of the same key.

        Raises:
            StoreError: it cannot be written.
        """
        body = zlib.compress(record.to_json().encode())
        row = (record.key, _reusable(record), record.model, record.challenge, attempt, body)
        self._database.write(lambda c: c.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)", row))

    def publish(self, record: Record) -> Path:
        """Put a record under reports/records/, where reports are made from.

        A failure of the harness does not replace a finished grade of the same files in the same environment.

        Raises:
            StoreError: it cannot be written.
        """
        path = self._workspace.record_path(record.model, record.challenge)
        text = record.to_json()
        try:
            published = path.read_bytes()
        except OSError:
            published = b""
        if published != text.encode() and not (
            record.status is Status.JUDGE_ERROR and _finished(published, record.key)
        ):
            write_atomically(path, text)
        return path


def _reusable(record: Record) -> bool:
    return record.ranked and record.status is not Status.JUDGE_ERROR


def _finished(published: bytes, key: str) -> bool:
    """Whether these bytes are a finished record of that key."""
    try:
        before = Record.from_json(published)
    except ValueError:
        return False
    return before.key == key and before.status is not Status.JUDGE_ERROR
