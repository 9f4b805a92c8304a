"""What was accepted, in a SQLite file beside the store: what is in it is graded, also after a kill or a power cut.

A *job* is one request of one client; a *work* is one answer to grade. Jobs for equal content share the work while it
is unfinished, so that it is graded once.
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
from harness.running.database import Database

SCHEMA = 2
"""In 1, owners were the names of tokens, which another token may have had since: their jobs have no owner any more."""
FREE_BYTES = 16 << 20
"""Bytes on the disk of the queue below which nothing is accepted."""
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
    """How far a work is."""

    WAITING = 0
    RUNNING = 1
    FINISHED = 2


class QueueFull(HarnessError):
    """There is no room for what was sent; nothing of it was accepted.

    Attributes:
        waiting: works that are unfinished.
    """

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting
        super().__init__(f"{waiting} answers wait or are graded, and there is no room for what was sent")


class KeyReused(HarnessError):
    """A client sent another request under a key that it had used before."""


@dataclass(frozen=True)
class AcceptedAnswer:
    """An answer on its way into the queue.

    Attributes:
        id: of the job.
        content: hash of all that is graded.
        options: how it is graded, as `Options.to_json` writes it.
        challenge, profile: what is asked of it.
        request: the request as JSON.
    """

    id: str
    content: str
    options: str
    challenge: str
    profile: str
    request: bytes


@dataclass(frozen=True)
class QueuedJob:
    """A job as it stands.

    Attributes:
        id: names it to its client.
        work: number of its work.
        owner: id of the token it came with; empty where none was needed.
        batch: id of the batch it is part of, or None.
        challenge, profile: what is asked.
        state: how far its work is.
        record: the record as JSON, once it is finished.
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
    """An answer that a slot has taken.

    Attributes:
        number: of the work.
        options: as `AcceptedAnswer.options`.
        challenge: what it answers.
        deaths: graders that ended while they graded it.
        request: as `AcceptedAnswer.request`.
        waited: seconds since it was accepted.
    """

    number: int
    options: str
    challenge: str
    deaths: int
    request: bytes
    waited: float


class JobQueue:
    """The jobs of one workspace's service.

    Args:
        path: of the SQLite file.
        room: works that may be unfinished.
    """

    def __init__(self, path: Path, room: int) -> None:
        self._database = Database(path, SCHEMA, TABLES, _disown)
        self._room = room

    def open(self) -> int:
        """Make the file where there is none, and let what a killed server was grading wait again; how much waits.

        Raises:
            StoreError: it cannot be written.
        """

        def recovered(connection: sqlite3.Connection) -> int:
            connection.execute("UPDATE works SET state = 0, begun = NULL WHERE state = 1")
            return int(connection.execute("SELECT COUNT(*) FROM works WHERE state = 0").fetchone()[0])

        return self._database.write(recovered)

    def accept(self, answers: Sequence[AcceptedAnswer], owner: str, batch: str | None = None) -> list[QueuedJob]:
        """Take answers in, all or none. When this returns they are on disk.

        Args:
            answers: of one request.
            owner: id of the token it came with.
            batch: id of their batch.

        Raises:
            QueueFull: there is no room.
            KeyReused: there are jobs of this id, and they are of another request.
            StoreError: the file cannot be written, or there would be no room for the records.
        """
        self._refuse_without_room()
        request = _content(answers, batch)

        def accepted(connection: sqlite3.Connection) -> list[QueuedJob]:
            unfinished = int(connection.execute("SELECT COUNT(*) FROM works WHERE state < 2").fetchone()[0])
            # a single answer and a batch under one key have the key's id in different columns
            same = "SELECT content FROM jobs WHERE id = :group OR batch = :group"
            group = {"group": batch or answers[0].id}
            if any(content != request for (content,) in connection.execute(same, group)):
                raise KeyReused("the same key was used before for another request")
            for place, answer in enumerate(answers):
                if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (answer.id,)).fetchone():
                    continue  # the client asks again, for it did not hear the first time
                number, new = _work(connection, answer)
                unfinished += new
                if unfinished > self._room:
                    raise QueueFull(unfinished - 1)
                job = (answer.id, number, request, owner, batch, place)
                connection.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?)", job)
            rows = (connection.execute(f"{_STATES} WHERE jobs.id = ?", (a.id,)).fetchone() for a in answers)
            return [_job(row) for row in rows]

        return self._database.write(accepted)

    def _refuse_without_room(self) -> None:
        """Keep room for the records of what was accepted.

        Raises:
            StoreError: there is too little.
        """
        folder = self._database.path.parent
        if shutil.disk_usage(folder).free < FREE_BYTES:
            raise StoreError(f"{folder}: has less than {FREE_BYTES >> 20} MiB left\n  make room there: df -h {folder}")

    def jobs(self, id: str, *, batch: bool = False, records: bool = True) -> list[QueuedJob]:
        """The job of an id, or those of a batch in its order; none where there are none.

        Args:
            id: of the job or the batch.
            batch: which of them it is.
            records: whether to read their records.

        Raises:
            StoreError: the file cannot be read.
        """
        what = "jobs.batch = ? ORDER BY jobs.place" if batch else "jobs.id = ?"
        query = f"{_WHOLE if records else _STATES} WHERE {what}"
        rows: list[tuple[object, ...]] = self._database.read(lambda c: c.execute(query, (id,)).fetchall(), [])
        return [_job(row) for row in rows]

    def take(self, count: int) -> list[QueuedWork]:
        """The works that have waited longest, up to so many that are graded in the same way.

        Raises:
            StoreError: the file cannot be written.
        """
        now = time.time()

        def taken(connection: sqlite3.Connection) -> list[QueuedWork]:
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
        return self._database.write(taken) if waits else []

    def finish(self, number: int, record: bytes) -> None:
        """Keep the record of a work, and let go of the answer.

        Raises:
            StoreError: the file cannot be written.
        """
        row = (time.time(), zlib.compress(record), number)
        query = "UPDATE works SET state = 2, finished = ?, record = ?, request = NULL WHERE number = ? AND state < 2"
        self._database.write(lambda c: c.execute(query, row))

    def give_back(self, number: int, *, died: bool) -> None:
        """Let a work wait again.

        Args:
            number: of the work.
            died: whether its grader ended while it graded this.

        Raises:
            StoreError: the file cannot be written.
        """
        query = "UPDATE works SET state = 0, begun = NULL, deaths = deaths + ? WHERE number = ? AND state = 1"
        self._database.write(lambda c: c.execute(query, (int(died), number)))

    def counts(self) -> tuple[int, int]:
        """How many works wait, and how many are graded.

        Raises:
            StoreError: the file cannot be read.
        """
        query = "SELECT state, COUNT(*) FROM works WHERE state < 2 GROUP BY state"
        rows: list[tuple[int, int]] = self._database.read(lambda c: c.execute(query).fetchall(), [])
        found = dict(rows)
        return found.get(0, 0), found.get(1, 0)

    def try_writing(self) -> None:
        """Write something of no use.

        Raises:
            StoreError: the file cannot be written.
        """
        row = (1, time.time())
        self._database.write(lambda c: c.execute("INSERT OR REPLACE INTO trial_writes VALUES (?, ?)", row))

    def forget(self, before: float) -> int:
        """Remove what was finished before a time, and return how many works that were.

        Raises:
            StoreError: the file cannot be written.
        """

        def forgotten(connection: sqlite3.Connection) -> int:
            old = "SELECT number FROM works WHERE state = 2 AND finished < ?"
            connection.execute(f"DELETE FROM jobs WHERE work IN ({old})", (before,))
            return connection.execute("DELETE FROM works WHERE state = 2 AND finished < ?", (before,)).rowcount

        return self._database.write(forgotten)


def _disown(connection: sqlite3.Connection) -> None:
    """Take the jobs of an older file from their owners, who were known by name; whoever may read all still may."""
    connection.execute("UPDATE jobs SET owner = 'name ' || owner WHERE owner != ''")


def _content(answers: Sequence[AcceptedAnswer], batch: str | None) -> str:
    """SHA-256 over a whole request."""
    kind = "answer" if batch is None else "batch"
    return hashlib.sha256("\n".join([kind, *(answer.content for answer in answers)]).encode()).hexdigest()


def _work(connection: sqlite3.Connection, answer: AcceptedAnswer) -> tuple[int, bool]:
    """The number of the unfinished work of this content, and whether it is new."""
    row = connection.execute("SELECT number FROM works WHERE content = ? AND state < 2", (answer.content,)).fetchone()
    if row is not None:
        return int(row[0]), False
    columns = "content, options, challenge, profile, state, accepted, request"
    values = (
        answer.content, answer.options, answer.challenge, answer.profile, int(JobState.WAITING), time.time(),
        zlib.compress(answer.request),
    )  # fmt: skip
    done = connection.execute(f"INSERT INTO works ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    return int(done.lastrowid or 0), True


def _job(row: Sequence[object]) -> QueuedJob:
    id, work, owner, batch, challenge, profile, state, record = row
    assert isinstance(id, str) and isinstance(work, int) and isinstance(owner, str) and isinstance(state, int)
    found = zlib.decompress(record) if isinstance(record, bytes) else None
    return QueuedJob(
        id, work, owner, None if batch is None else str(batch), str(challenge), str(profile), JobState(state), found
    )
