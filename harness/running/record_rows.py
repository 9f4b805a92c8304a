"""Records as rows of the store: what summaries show in columns, the whole record as a compressed body.

Fields of evidence that hold nothing, half of the text, are left out: reading puts them back. Records of one challenge
repeat each other's words, so a body is compressed against a dictionary: the text of the first record of that challenge
and probe set in the store. Bodies without a dictionary are plain zlib streams.
"""

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
from sqlite3 import Connection
from typing import Any

from pydantic import TypeAdapter

from harness.model import GradeProfile, Record

TABLES = """
CREATE TABLE IF NOT EXISTS records (
    key TEXT NOT NULL, reusable INTEGER NOT NULL, model TEXT NOT NULL, challenge TEXT NOT NULL,
    attempt INTEGER NOT NULL, made REAL, status TEXT, whole INTEGER, score REAL, coverage REAL, dictionary INTEGER,
    body BLOB NOT NULL, PRIMARY KEY (key, reusable)
);
CREATE TABLE IF NOT EXISTS dictionaries (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, text BLOB NOT NULL)
"""
ADDED = ("made REAL", "status TEXT", "whole INTEGER", "score REAL", "coverage REAL", "dictionary INTEGER")
"""Columns that schema 3 did not have."""
COLUMNS = (
    "key", "reusable", "model", "challenge", "attempt", "made", "status", "whole", "score", "coverage", "dictionary",
    "body",
)  # fmt: skip
INSERT = f"INSERT OR REPLACE INTO records ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
"""Keeps a row in place of an earlier one of the same key; an upgraded file has its columns in another order."""
BODY = "SELECT r.body, d.text FROM records AS r LEFT JOIN dictionaries AS d ON d.number = r.dictionary"
"""Body and dictionary of each record."""
LEVEL = 3
"""Of zlib: against a dictionary, levels 1 and 2 take as long and leave more, higher ones take longer."""
WINDOW = 32_768 - 262
"""Bytes of a dictionary that zlib can refer to; the end of a text is nearest to what follows it."""
UNREADABLE = (ValueError, KeyError, TypeError, zlib.error)
"""What reading a body raises that another version wrote, or that is damaged."""


def upgrade(connection: Connection) -> None:
    """Take up a file of an earlier schema: add the columns, fill them from the bodies, and make the index."""
    known = {row[1] for row in connection.execute("PRAGMA table_info(records)")}
    for column in ADDED:
        if column.split()[0] not in known:
            connection.execute(f"ALTER TABLE records ADD COLUMN {column}")
    fill = "UPDATE records SET made = ?, status = ?, whole = ?, score = ?, coverage = ? WHERE rowid = ?"
    for (number,) in connection.execute("SELECT rowid FROM records WHERE made IS NULL").fetchall():
        (body,) = connection.execute("SELECT body FROM records WHERE rowid = ?", (number,)).fetchone()
        with suppress(*UNREADABLE):
            connection.execute(fill, (*_in_short(json.loads(zlib.decompress(body))), number))
    connection.execute("DROP INDEX IF EXISTS records_by_name")
    columns = "model, challenge, attempt, made, status, whole, score, coverage"
    connection.execute(f"CREATE INDEX IF NOT EXISTS records_in_short ON records ({columns})")


@dataclass(frozen=True)
class RecordParts:
    """Which parts a record has.

    Attributes:
        dimensions: ids of its dimensions.
        stages: names of its stages.
    """

    dimensions: frozenset[str]
    stages: frozenset[str]


def record_of(body: bytes, dictionary: bytes | None) -> Record | None:
    """The record; None where the body is damaged, or only the version of the harness that wrote it can read it."""
    try:
        return Record.from_json(_text(body, dictionary))
    except UNREADABLE:
        return None


def parts_of(body: bytes, dictionary: bytes | None) -> RecordParts | None:
    """Which parts a record has, the rest of it unchecked; None where the body is no record."""
    try:
        record = json.loads(_text(body, dictionary))
        return RecordParts(frozenset(record["dimensions"]), frozenset(record["seconds"]))
    except UNREADABLE:
        return None


def _text(body: bytes, dictionary: bytes | None) -> bytes:
    if dictionary is None:
        return zlib.decompress(body)
    stream = zlib.decompressobj(zdict=dictionary)
    text = stream.decompress(body) + stream.flush()
    if not stream.eof:
        raise zlib.error("the body is cut short")
    return text


class RowWriter:
    """Makes the rows of one transaction, with one encoder for each challenge.

    Args:
        connection: in a transaction that writes; new dictionaries are kept in it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._encoders: dict[str, tuple[int, Any]] = {}

    def row(self, record: Record, reusable: bool) -> tuple[Any, ...]:
        """A record as `COLUMNS`."""
        text = stored_text(record)
        name = f"{record.challenge} {record.probe_set or ''}"
        found = self._encoders.get(name) or self._known(name)
        if found is None:
            # the first of its kind: compressed by itself, so that it can be read without a dictionary
            self._connection.execute("INSERT INTO dictionaries (name, text) VALUES (?, ?)", (name, text[-WINDOW:]))
            number, body = None, zlib.compress(text, LEVEL)
        else:
            self._encoders[name] = found
            number, encoder = found[0], found[1].copy()
            body = encoder.compress(text) + encoder.flush()
        return (
            record.key, reusable, record.model, record.challenge, record.attempt or 0, record.made.timestamp(),
            record.status.value, not record.partial, record.overall.score, record.overall.coverage, number, body,
        )  # fmt: skip

    def _known(self, name: str) -> tuple[int, Any] | None:
        query = "SELECT number, text FROM dictionaries WHERE name = ?"
        row = self._connection.execute(query, (name,)).fetchone()
        return (row[0], zlib.compressobj(LEVEL, zdict=row[1])) if row else None


def stored_text(record: Record) -> bytes:
    """The JSON of a record, without the fields of its evidence that hold nothing; `Record.from_json` reads it.

    Elsewhere all is written: the limits that a grade had are not those of a later harness.
    """
    # a loss is read by its kind, which is a default
    brief = not any(map(attrgetter("loss"), record.evidence))
    head = _writer().dump_json(record, exclude={"evidence"})
    evidence = _writer().dump_json(record, include={"evidence"}, exclude_defaults=brief)
    return b"%b,%b" % (head[:-1], evidence[1:])


@cache
def _writer() -> TypeAdapter[Record]:
    """Writes bytes; a model by itself writes text, which would have to be encoded again."""
    return TypeAdapter(Record)


def _in_short(record: Mapping[str, Any]) -> tuple[float, str, bool, float | None, float]:
    """`made` to `coverage` of a record's JSON."""
    whole = record.get("profile", "full") == GradeProfile.FULL and not record.get("only") and not record.get("cut_off")
    overall = record["overall"]
    made = datetime.fromisoformat(record["made"]).timestamp()
    return made, record["status"], whole, overall["score"], overall["coverage"]
