"""Durable queue of accepted jobs in SQLite, which survives a kill or a power cut.

A *job* is one request of one client, a *work* one submission to grade. Jobs of equal content share an unfinished work.
"""

import hashlib
import shutil
import sqlite3
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from harness.errors import HarnessError, StoreError
from harness.store.database import Database

SCHEMA = 2
"""Schema 1 named owners by token name, which a later token may reuse; its jobs lose their owner."""
FREE_BYTES = 16 << 20
"""Free bytes on the queue's disk below which submissions are refused."""
TABLES = """
CREATE TABLE IF NOT EXISTS works (
    number INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL, options TEXT NOT NULL, challenge TEXT NOT NULL,
    profile TEXT NOT NULL, state INTEGER NOT NULL, deaths INTEGER NOT NULL DEFAULT 0, accepted REAL NOT NULL,
    begun REAL, finished REAL, request BLOB, record BLOB
);
CREATE UNIQUE INDEX IF NOT EXISTS unfinished_works ON works (content) WHERE state < 2;
CREATE INDEX IF NOT EXISTS works_by_state ON works (state, number);
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, work INTEGER NOT NULL, content TEXT NOT NULL, owner TEXT NOT NULL, batch TEXT, place INTEGER
);
CREATE INDEX IF NOT EXISTS jobs_by_batch ON jobs (batch, place);
CREATE INDEX IF NOT EXISTS jobs_by_work ON jobs (work);
CREATE TABLE IF NOT EXISTS trial_writes (one INTEGER PRIMARY KEY, made REAL NOT NULL)
"""
_VIEW = (
    "SELECT jobs.id, jobs.work, jobs.owner, jobs.batch, works.challenge, works.profile, works.state, {record} "
    "FROM jobs JOIN works ON works.number = jobs.work "
)
_WHOLE, _STATES = _VIEW.format(record="works.record"), _VIEW.format(record="NULL")


class JobState(IntEnum):
    """Progress of a work."""

    WAITING = 0
    RUNNING = 1
    FINISHED = 2


class QueueFull(HarnessError):
    """The queue lacks room for a whole request.

    Attributes:
        waiting: unfinished works.
    """

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting
        super().__init__(f"{waiting} answers wait or are graded, and there is no room for what was sent")


class KeyReused(HarnessError):
    """A client used one key for two different requests."""


@dataclass(frozen=True)
class AcceptedAnswer:
    """A submission to queue.

    Attributes:
        content: hash of all that is graded.
        options: JSON of `Options.to_json`.
        request: request as JSON.
    """

    id: str
    content: str
    options: str
    challenge: str
    profile: str
    request: bytes


@dataclass(frozen=True)
class QueuedJob:
    """A job in its present state.

    Attributes:
        owner: id of its token; empty on a server without tokens.
        record: JSON, once finished and if asked for.
    """

    id: str
    work: int
    owner: str
    batch: str | None
    challenge: str
    profile: str
    state: JobState
    record: bytes | None


@dataclass(frozen=True)
class QueuedWork:
    """A submission that a slot has taken.

    Attributes:
        options: see `AcceptedAnswer.options`.
        deaths: graders that ended while grading it.
        request: request as JSON.
        waited: seconds since acceptance.
    """

    number: int
    options: str
    challenge: str
    deaths: int
    request: bytes
    waited: float


class JobQueue:
    """The jobs of one workspace's service. Methods raise `StoreError` if the file is unusable.

    Args:
        room: most unfinished works.
    """

    def __init__(self, path: Path, room: int) -> None:
        self._database = Database(path, SCHEMA, TABLES, _disown)
        self._room = room

    def open(self) -> int:
        """Create the file if missing, requeue works that a killed server was grading; return how many wait."""

        def recover(connection: sqlite3.Connection) -> int:
            connection.execute("UPDATE works SET state = 0, begun = NULL WHERE state = 1")
            return int(connection.execute("SELECT COUNT(*) FROM works WHERE state = 0").fetchone()[0])

        return self._database.write(recover)

    def accept(self, answers: Sequence[AcceptedAnswer], owner: str, batch: str | None = None) -> list[QueuedJob]:
        """Accept the submissions of one request, all or none. On return they are on disk.

        Raises:
            QueueFull: the queue lacks room.
            KeyReused: the id belongs to another request.
            StoreError: the disk lacks room for the records.
        """
        folder = self._database.path.parent
        if shutil.disk_usage(folder).free < FREE_BYTES:  # kept for records
            raise StoreError(f"{folder}: has less than {FREE_BYTES >> 20} MiB left\n  make room there: df -h {folder}")
        request = _hash_request(answers, batch)

        def insert(connection: sqlite3.Connection) -> list[QueuedJob]:
            unfinished = int(connection.execute("SELECT COUNT(*) FROM works WHERE state < 2").fetchone()[0])
            # a single answer and a batch under one key have the key's id in different columns
            same = "SELECT content FROM jobs WHERE id = :group OR batch = :group"
            group = {"group": batch or answers[0].id}
            if any(content != request for (content,) in connection.execute(same, group)):
                raise KeyReused("the same key was used before for another request")
            for place, answer in enumerate(answers):
                if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (answer.id,)).fetchone():
                    continue  # a retry: the client missed the first response
                number, new = _find_or_add_work(connection, answer)
                unfinished += new
                if unfinished > self._room:
                    raise QueueFull(unfinished - 1)
                job = (answer.id, number, request, owner, batch, place)
                connection.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?)", job)
            rows = (connection.execute(f"{_STATES} WHERE jobs.id = ?", (a.id,)).fetchone() for a in answers)
            return [_parse_job(row) for row in rows]

        return self._database.write(insert)

    def jobs(self, id: str, *, batch: bool = False, records: bool = True) -> list[QueuedJob]:
        """Return a job, or the jobs of a batch in order; empty for an unknown id.

        Args:
            records: true to read the records, too.
        """
        what = "jobs.batch = ? ORDER BY jobs.place" if batch else "jobs.id = ?"
        query = f"{_WHOLE if records else _STATES} WHERE {what}"
        rows: list[tuple[object, ...]] = self._database.read(lambda c: c.execute(query, (id,)).fetchall(), [])
        return [_parse_job(row) for row in rows]

    def take(self, count: int) -> list[QueuedWork]:
        """Take the longest waiting works, at most `count`, with equal options."""
        now = time.time()

        def take(connection: sqlite3.Connection) -> list[QueuedWork]:
            columns = "number, options, challenge, deaths, request, accepted"
            first = connection.execute("SELECT options FROM works WHERE state = 0 ORDER BY number LIMIT 1").fetchone()
            if first is None:
                return []
            rows = connection.execute(
                f"SELECT {columns} FROM works WHERE state = 0 AND options = ? ORDER BY number LIMIT ?", (*first, count)
            ).fetchall()
            connection.executemany(
                "UPDATE works SET state = 1, begun = ? WHERE number = ?", [(now, row[0]) for row in rows]
            )
            return [
                QueuedWork(number, options, challenge, deaths, zlib.decompress(request), now - accepted)
                for number, options, challenge, deaths, request, accepted in rows
            ]

        waits = self._database.read(lambda c: c.execute("SELECT 1 FROM works WHERE state = 0 LIMIT 1").fetchone(), None)
        return self._database.write(take) if waits else []

    def finish(self, number: int, record: bytes) -> None:
        """Store the record of a work, and drop its request."""
        row = (time.time(), zlib.compress(record), number)
        query = "UPDATE works SET state = 2, finished = ?, record = ?, request = NULL WHERE number = ? AND state < 2"
        self._database.write(lambda c: c.execute(query, row))

    def give_back(self, number: int, *, died: bool) -> None:
        """Requeue a work, counting a death of its grader if `died`."""
        query = "UPDATE works SET state = 0, begun = NULL, deaths = deaths + ? WHERE number = ? AND state = 1"
        self._database.write(lambda c: c.execute(query, (int(died), number)))

    def counts(self) -> tuple[int, int]:
        """Count waiting and running works."""
        query = "SELECT state, COUNT(*) FROM works WHERE state < 2 GROUP BY state"
        rows: list[tuple[int, int]] = self._database.read(lambda c: c.execute(query).fetchall(), [])
        found = dict(rows)
        return found.get(0, 0), found.get(1, 0)

    def try_writing(self) -> None:
        """Write a dummy row."""
        row = (1, time.time())
        self._database.write(lambda c: c.execute("INSERT OR REPLACE INTO trial_writes VALUES (?, ?)", row))

    def forget(self, before: float) -> int:
        """Delete works finished before a Unix time; return how many."""

        def forgotten(connection: sqlite3.Connection) -> int:
            old = "SELECT number FROM works WHERE state = 2 AND finished < ?"
            connection.execute(f"DELETE FROM jobs WHERE work IN ({old})", (before,))
            return connection.execute("DELETE FROM works WHERE state = 2 AND finished < ?", (before,)).rowcount

        return self._database.write(forgotten)


def _disown(connection: sqlite3.Connection) -> None:
    """Invalidate the owners of an older file; tokens with scope `read` can still read those jobs."""
    connection.execute("UPDATE jobs SET owner = 'name ' || owner WHERE owner != ''")


def _hash_request(answers: Sequence[AcceptedAnswer], batch: str | None) -> str:
    kind = "answer" if batch is None else "batch"
    return hashlib.sha256("\n".join([kind, *(answer.content for answer in answers)]).encode()).hexdigest()


def _find_or_add_work(connection: sqlite3.Connection, answer: AcceptedAnswer) -> tuple[int, bool]:
    row = connection.execute("SELECT number FROM works WHERE content = ? AND state < 2", (answer.content,)).fetchone()
    if row is not None:
        return int(row[0]), False
    columns = "content, options, challenge, profile, state, accepted, request"
    given = (answer.content, answer.options, answer.challenge, answer.profile)
    values = (*given, int(JobState.WAITING), time.time(), zlib.compress(answer.request))
    done = connection.execute(f"INSERT INTO works ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    return int(done.lastrowid or 0), True


def _parse_job(row: Sequence[object]) -> QueuedJob:
    id, work, owner, batch, challenge, profile, state, record = row
    assert isinstance(id, str) and isinstance(work, int) and isinstance(owner, str) and isinstance(state, int)
    found = zlib.decompress(record) if isinstance(record, bytes) else None
    return QueuedJob(
        id, work, owner, None if batch is None else str(batch), str(challenge), str(profile), JobState(state), found
    )
