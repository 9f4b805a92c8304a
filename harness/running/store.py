"""Where records are kept: those made here in one SQLite file, the published ones as JSON files indexed in it."""

import contextlib
import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection

from harness.errors import StoreError
from harness.model import GradeProfile, Record, Status
from harness.model.submission_name import SubmissionName
from harness.running import failing_seeds, published_records
from harness.running.database import Database
from harness.stored_files import write_atomically
from harness.workspace import Workspace

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

    def add(self, record: Record, *, reusable: bool | None = None) -> None:
        """Keep a record made on this machine in place of an earlier one of the same key.

        Args:
            record: to keep.
            reusable: whether it may stand for a new grade of the same key; a ranked one may by default.

        Raises:
            StoreError: it cannot be written.
        """
        body = zlib.compress(record.to_json().encode())
        may_stand = _reusable(record) if reusable is None else reusable
        row = (record.key, may_stand, record.model, record.challenge, record.attempt or 0, body)
        self._database.write(lambda c: c.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)", row))

    def count(self, name: SubmissionName) -> int:
        """How many records of a submission were made on this machine and are kept.

        Raises:
            StoreError: the store cannot be read.
        """
        query = "SELECT COUNT(*) FROM records WHERE model = ? AND challenge = ? AND attempt = ?"
        return int(self._database.read(lambda c: c.execute(query, _columns(name)).fetchone()[0], 0))

    def forget(self, name: SubmissionName) -> None:
        """Remove them.

        Raises:
            StoreError: the store cannot be written.
        """
        if self.count(name):
            statement = "DELETE FROM records WHERE model = ? AND challenge = ? AND attempt = ?"
            self._database.write(lambda c: c.execute(statement, _columns(name)))

    def superseded(self, before: datetime) -> list[tuple[str, int]]:
        """Key and reusability of records made before a time, the latest of each submission left out.

        Raises:
            StoreError: the store cannot be read.
        """
        query = "SELECT key, reusable, body FROM records"
        found: list[tuple[str, int, bytes]] = self._database.read(lambda c: c.execute(query).fetchall(), [])
        made: dict[tuple[str, str, int], list[tuple[datetime, str, int]]] = {}
        for key, reusable, body in found:
            with contextlib.suppress(ValueError, KeyError, TypeError, zlib.error):  # another version's, or damaged
                record = json.loads(zlib.decompress(body))
                when = datetime.fromisoformat(record["made"])
                name = SubmissionName(record["model"], record["challenge"], record.get("attempt"))
                made.setdefault(name.order, []).append((when, key, reusable))
        return [(key, use) for own in made.values() for when, key, use in sorted(own)[:-1] if when < before]

    def discard(self, rows: Sequence[tuple[str, int]]) -> None:
        """Remove the records of these keys and reusabilities; the file gets smaller.

        Raises:
            StoreError: the store cannot be written.
        """
        self._database.write(lambda c: c.executemany("DELETE FROM records WHERE key = ? AND reusable = ?", rows))
        self._database.compact()

    def publish(self, record: Record) -> Path:
        """Put a record under reports/records/, where reports are made from.

        A failure of the harness does not replace a finished grade of the same files in the same environment.

        Raises:
            StoreError: it cannot be written, says less than a record of the profile `full`, or would put attempts
                beside a single answer of the same model.
        """
        if record.partial:
            what = f"profile {record.profile}" if record.profile is not GradeProfile.FULL else "part of the criteria"
            raise StoreError(f"{record.name}: a record of {what} is not published\n  try: harness grade {record.name}")
        self._refuse_both_forms(record)
        path = self._workspace.record_path(record.model, record.challenge, record.attempt)
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

    def _refuse_both_forms(self, record: Record) -> None:
        """Keep a model from being counted with a single answer and with attempts.

        Raises:
            StoreError: it would be.
        """
        single = self._workspace.record_path(record.model, record.challenge)
        attempts = sorted(single.with_suffix("").glob("attempt-*.json")) if record.attempt is None else []
        if record.attempt is not None and single.exists():
            attempts = [single]
        if attempts:
            form = "single answer" if record.attempt else "attempts"
            raise StoreError(
                f"{record.name} is not published: there are records of {record.submission_name.answer} as {form}: "
                f"{', '.join(map(str, attempts))}\n  remove them, and grade again"
            )


def _columns(name: SubmissionName) -> tuple[str, str, int]:
    """Model, challenge and attempt as the table has them."""
    return name.model, name.challenge, name.attempt or 0


def _reusable(record: Record) -> bool:
    return record.ranked and record.status is not Status.JUDGE_ERROR


def _finished(published: bytes, key: str) -> bool:
    """Whether these bytes are a finished record of that key."""
    try:
        before = Record.from_json(published)
    except ValueError:
        return False
    return before.key == key and before.status is not Status.JUDGE_ERROR
