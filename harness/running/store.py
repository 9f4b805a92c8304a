"""Where records are kept: those made here in one SQLite file, the published ones as JSON files indexed in it."""

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
from harness.model.submission_name import SubmissionName
from harness.running import failing_seeds, published_records, record_rows
from harness.running.database import Database
from harness.signatures import signature_path
from harness.stored_files import write_atomically
from harness.workspace import Workspace

_log = logging.getLogger(__name__)
SCHEMA = 8
BATCH = 5000
"""Records written in one transaction where many are added: others wait about a second for their turn."""
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
    """The records made here of one model on one challenge.

    Attributes:
        model, challenge: whose they are.
        records: how many there are.
        graded, unbuilt, judge_errors: how many have each status.
        mean, worst, best: of the overall marks of those made with the whole profile `full`, 0 to 100; None where none
            of these has a mark.
        coverage: mean coverage of these, 0 to 1; None where there are none.
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

    Records made on this machine lie in `.harness/records.sqlite`, the latest of each content key; only they are
    reused. Those under reports/records/ may come from anywhere: they are for reading.
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

        return self._readable("r.key = ? AND r.reusable", key)

    def find_seeded(self, key: str, seed: int) -> Record | None:
        """The finished record made on this machine under this key with a seed that was chosen by hand.

        Raises:
            StoreError: the store cannot be read.
        """
        found = self._readable("r.key = ? AND NOT r.reusable", key)
        if found is None or found.seed != seed or found.status is Status.JUDGE_ERROR or found.cut_off:
            return None
        return found

    def _readable(self, where: str, key: str) -> Record | None:
        query = f"{record_rows.BODY} WHERE {where}"
        row = self._database.read(lambda c: c.execute(query, (key,)).fetchone(), None)
        return None if row is None else record_rows.record_of(*row)

    def add(self, record: Record, *, reusable: bool | None = None) -> None:
        """Keep a record made on this machine in place of an earlier one of its key; once this returns, it is on disk.

        Args:
            record: to keep.
            reusable: whether it may stand for a new grade of the same key; a ranked one may by default.

        Raises:
            StoreError: it cannot be written.
        """
        self._write([(record, _reusable(record) if reusable is None else reusable)])

    def add_together(self, records: Sequence[tuple[Record, bool]]) -> None:
        """As `add` for a few records, each with whether it is reusable: all of them, or none where this raises.

        Raises:
            StoreError: they cannot be written.
        """
        if records:
            self._write(records)

    def add_many(self, records: Iterable[Record]) -> int:
        """As `add` for each of many records, so many to a transaction; how many they were.

        Raises:
            StoreError: they cannot be written; whole transactions before that are kept.
        """
        count, waiting = 0, iter(records)
        while batch := [(record, _reusable(record)) for record in islice(waiting, BATCH)]:
            self._write(batch)
            count += len(batch)
        return count

    def _write(self, records: Sequence[tuple[Record, bool]]) -> None:
        def write(connection: Connection) -> None:
            rows = record_rows.RowWriter(connection)
            connection.executemany(record_rows.INSERT, [rows.row(record, reusable) for record, reusable in records])

        self._database.write(write)

    def summary(self) -> list[KeptRecords]:
        """The records made here by model and challenge, sorted by them; no record is read.

        Raises:
            StoreError: the store cannot be read.
        """
        rows: list[tuple[Any, ...]] = self._database.read(lambda c: c.execute(SUMMARY).fetchall(), [])
        return [KeptRecords(*row) for row in rows]

    def records(self) -> Iterator[Record]:
        """The records made here one after the other, as they all were when the first was asked for.

        Those that cannot be read, being damaged or of another version of the harness, are left out with a warning.

        Raises:
            StoreError: the store cannot be read.
        """
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
        """What the columns of a table of these records depend on, in a third of the time that reading them takes.

        Raises:
            StoreError: the store cannot be read.
        """
        rows = self._database.stream(record_rows.BODY)
        return (parts for row in rows if (parts := record_rows.parts_of(*row)) is not None)

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
        values = (before.timestamp(),)
        return self._database.read(lambda c: c.execute(NOT_LATEST, values).fetchall(), [])

    def discard(self, rows: Sequence[tuple[str, int]]) -> None:
        """Remove the records of these keys and reusabilities; the file gets smaller.

        Raises:
            StoreError: the store cannot be written.
        """
        unused = "DELETE FROM dictionaries WHERE number NOT IN (SELECT dictionary FROM records WHERE dictionary)"

        def discard(connection: Connection) -> None:
            connection.executemany("DELETE FROM records WHERE key = ? AND reusable = ?", rows)
            connection.execute(unused)

        self._database.write(discard)
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
            signature_path(path).unlink(missing_ok=True)  # it is of what stood there before
            write_atomically(path, text)
            self.published.written(record)
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
