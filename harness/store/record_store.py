"""Store of records, with the published ones indexed in it."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from harness.errors import StoreError
from harness.model import GradeProfile, Record, Status
from harness.model.submissions.name import SubmissionName
from harness.store import failing_seeds, published_records, record_rows
from harness.store.database import Database
from harness.workspace import Workspace
from harness.workspace.signatures import signature_path
from harness.workspace.stored_files import write_atomically

_log = logging.getLogger(__name__)
SCHEMA = 8
BATCH = 5000
"""Records per transaction of a bulk insert, for which other writers wait about a second."""
SUMMARY = """
SELECT model, challenge, COUNT(*), SUM(status = 'graded'), SUM(status = 'build_failed'), SUM(status = 'judge_error'),
    AVG(CASE WHEN whole THEN score END), MIN(CASE WHEN whole THEN score END), MAX(CASE WHEN whole THEN score END),
    AVG(CASE WHEN whole THEN coverage END)
FROM records WHERE made IS NOT NULL GROUP BY model, challenge ORDER BY model, challenge
"""
NOT_LATEST = """
SELECT key, reusable FROM records AS r WHERE made < ? AND EXISTS (
    SELECT 1 FROM records AS other
    WHERE other.model = r.model AND other.challenge = r.challenge AND other.attempt = r.attempt
    AND (other.made, other.key, other.reusable) > (r.made, r.key, r.reusable)
)
"""


@dataclass(frozen=True)
class KeptRecords:
    """Statistics of the local records of one model on one challenge.

    Attributes:
        graded, unbuilt, judge_errors: number of records by status.
        mean, worst, best: overalls, 0 to 100, of records of the whole profile `full`; None without any.
        coverage: mean coverage of these, 0 to 1.
    """

    model: str
    challenge: str
    records: int
    graded: int
    unbuilt: int
    judge_errors: int
    mean: float | None
    worst: float | None
    best: float | None
    coverage: float | None


class Store:
    """The records of a workspace.

    Local records, the latest of each content key, are in `.harness/records.sqlite`; only these are reused. Published
    records may come from anywhere and are only read. Methods raise `StoreError` if the store cannot be used.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._database = Database(
            workspace.cache_folder / "records.sqlite",
            SCHEMA,
            f"{record_rows.TABLES};{published_records.TABLES};{failing_seeds.TABLES}",
            record_rows.upgrade,
        )

    @property
    def path(self) -> Path:
        """Path of the SQLite file."""
        return self._database.path

    @property
    def published(self) -> published_records.PublishedRecords:
        """Records under reports/records/."""
        return published_records.PublishedRecords(self._workspace, self._database)

    def failing_seeds(self, challenge: str, hashes: Mapping[str, str]) -> failing_seeds.FailingSeeds:
        """Return the failing seeds of files (SHA-256 by relative path)."""
        return failing_seeds.FailingSeeds(self._database, challenge, hashes)

    def find(self, key: str) -> Record | None:
        """Return the reusable record of a content key, or None."""

        return self._read_record("r.key = ? AND r.reusable", key)

    def find_seeded(self, key: str, seed: int) -> Record | None:
        """Return the finished record of a content key with a hand-chosen seed, or None."""
        found = self._read_record("r.key = ? AND NOT r.reusable", key)
        if found is None or found.seed != seed or found.status is Status.JUDGE_ERROR or found.cut_off:
            return None
        return found

    def _read_record(self, where: str, key: str) -> Record | None:
        query = f"{record_rows.BODY} WHERE {where}"
        row = self._database.read(lambda c: c.execute(query, (key,)).fetchone(), None)
        return None if row is None else record_rows.record_of(*row)

    def add(self, record: Record, *, reusable: bool | None = None) -> None:
        """Save a local record, synced to disk, in place of an earlier one of its key.

        Args:
            reusable: true if it may replace a new grade of its key; by default if ranked.
        """
        self._write([(record, _is_reusable(record) if reusable is None else reusable)])

    def add_together(self, records: Sequence[tuple[Record, bool]]) -> None:
        """Save a few records, each with its reusability, all or none."""
        if records:
            self._write(records)

    def add_many(self, records: Iterable[Record]) -> int:
        """Save many records and return their number; on an error, earlier batches are kept."""
        count, waiting = 0, iter(records)
        while batch := [(record, _is_reusable(record)) for record in islice(waiting, BATCH)]:
            self._write(batch)
            count += len(batch)
        return count

    def _write(self, records: Sequence[tuple[Record, bool]]) -> None:
        def write(connection: Connection) -> None:
            rows = record_rows.RowWriter(connection)
            connection.executemany(record_rows.INSERT, [rows.row(record, reusable) for record, reusable in records])

        self._database.write(write)

    def summary(self) -> list[KeptRecords]:
        """Return statistics by model and challenge."""
        rows: list[tuple[Any, ...]] = self._database.read(lambda c: c.execute(SUMMARY).fetchall(), [])
        return [KeptRecords(*row) for row in rows]

    def records(self) -> Iterator[Record]:
        """Yield the local records from one consistent snapshot; log a warning for unreadable ones."""
        unread = 0
        for row in self._database.stream(record_rows.BODY):
            if (record := record_rows.record_of(*row)) is None:
                unread += 1
            else:
                yield record
        if unread:
            what = f"{unread} record{'' if unread == 1 else 's'} that cannot be read: damaged, or of another version"
            _log.warning("left out: %s: %s\n  harness grade --all --force makes new ones", self.path, what)

    def parts(self) -> Iterator[record_rows.RecordParts]:
        """Yield the names that a table's columns depend on, three times as fast as `records`."""
        rows = self._database.stream(record_rows.BODY)
        return (parts for row in rows if (parts := record_rows.parts_of(*row)) is not None)

    def count(self, name: SubmissionName) -> int:
        """Count a submission's local records."""
        query = "SELECT COUNT(*) FROM records WHERE model = ? AND challenge = ? AND attempt = ?"
        return int(self._database.read(lambda c: c.execute(query, _list_columns(name)).fetchone()[0], 0))

    def forget(self, name: SubmissionName) -> None:
        """Remove a submission's local records."""
        if self.count(name):
            statement = "DELETE FROM records WHERE model = ? AND challenge = ? AND attempt = ?"
            self._database.write(lambda c: c.execute(statement, _list_columns(name)))

    def list_older(self, before: datetime) -> list[tuple[str, int]]:
        """Return key and reusability of records made before a time, except each submission's latest."""
        values = (before.timestamp(),)
        return self._database.read(lambda c: c.execute(NOT_LATEST, values).fetchall(), [])

    def discard(self, rows: Sequence[tuple[str, int]]) -> None:
        """Remove records by key and reusability, and shrink the file."""
        unused = "DELETE FROM dictionaries WHERE number NOT IN (SELECT dictionary FROM records WHERE dictionary)"

        def discard(connection: Connection) -> None:
            connection.executemany("DELETE FROM records WHERE key = ? AND reusable = ?", rows)
            connection.execute(unused)

        self._database.write(discard)
        self._database.compact()

    def publish(self, record: Record) -> Path:
        """Save a record under reports/records/.

        A failure of the harness does not replace a finished grade with the same content key.

        Raises:
            StoreError: the record is partial, or attempts would lie beside a single submission.
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
            record.status is Status.JUDGE_ERROR and _is_finished(published, record.key)
        ):
            signature_path(path).unlink(missing_ok=True)  # it signs the record replaced here
            write_atomically(path, text)
            self.published.add(record)
        return path

    def _refuse_both_forms(self, record: Record) -> None:
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


def _list_columns(name: SubmissionName) -> tuple[str, str, int]:
    return name.model, name.challenge, name.attempt or 0


def _is_reusable(record: Record) -> bool:
    return record.ranked and record.status is not Status.JUDGE_ERROR


def _is_finished(published: bytes, key: str) -> bool:
    try:
        before = Record.from_json(published)
    except ValueError:
        return False
    return before.key == key and before.status is not Status.JUDGE_ERROR
