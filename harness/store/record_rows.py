"""Records as rows of the store: summary columns and a compressed body.

Default fields of evidence, half of the text, are left out. Bodies are compressed against a dictionary, the first record
of the same challenge and probe set; those without one are plain zlib streams.
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
"""Columns missing from schema 3."""
COLUMNS = (
    "key",
    "reusable",
    "model",
    "challenge",
    "attempt",
    "made",
    "status",
    "whole",
    "score",
    "coverage",
    "dictionary",
    "body",
)
INSERT = f"INSERT OR REPLACE INTO records ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
"""Replaces an earlier row of the same key; names the columns, as upgraded files order them differently."""
BODY = "SELECT r.body, d.text FROM records AS r LEFT JOIN dictionaries AS d ON d.number = r.dictionary"
"""Query for the body and dictionary of each record."""
LEVEL = 3
"""zlib level. With a dictionary, levels 1 and 2 take as long and compress less; higher ones take longer."""
WINDOW = 32_768 - 262
"""Bytes at the end of a dictionary that zlib can refer to."""
UNREADABLE = (ValueError, KeyError, TypeError, zlib.error)
"""Errors from reading a body that is damaged or from another version."""


def upgrade(connection: Connection) -> None:
    """Migrate an earlier schema, filling the new columns from the bodies."""
    known = {row[1] for row in connection.execute("PRAGMA table_info(records)")}
    for column in ADDED:
        if column.split()[0] not in known:
            connection.execute(f"ALTER TABLE records ADD COLUMN {column}")
    fill = "UPDATE records SET made = ?, status = ?, whole = ?, score = ?, coverage = ? WHERE rowid = ?"
    for (number,) in connection.execute("SELECT rowid FROM records WHERE made IS NULL").fetchall():
        (body,) = connection.execute("SELECT body FROM records WHERE rowid = ?", (number,)).fetchone()
        with suppress(*UNREADABLE):
            connection.execute(fill, (*_summarize(json.loads(zlib.decompress(body))), number))
    connection.execute("DROP INDEX IF EXISTS records_by_name")
    columns = "model, challenge, attempt, made, status, whole, score, coverage"
    connection.execute(f"CREATE INDEX IF NOT EXISTS records_in_short ON records ({columns})")


@dataclass(frozen=True)
class RecordParts:
    """Names of a record's parts."""

    dimensions: frozenset[str]
    stages: frozenset[str]


def record_of(body: bytes, dictionary: bytes | None) -> Record | None:
    """Return the record, or None if damaged or of an unreadable version."""
    try:
        return Record.from_json(_decompress(body, dictionary))
    except UNREADABLE:
        return None


def parts_of(body: bytes, dictionary: bytes | None) -> RecordParts | None:
    """Return a record's parts without validation, or None if unreadable."""
    try:
        record = json.loads(_decompress(body, dictionary))
        return RecordParts(frozenset(record["dimensions"]), frozenset(record["seconds"]))
    except UNREADABLE:
        return None


def _decompress(body: bytes, dictionary: bytes | None) -> bytes:
    if dictionary is None:
        return zlib.decompress(body)
    stream = zlib.decompressobj(zdict=dictionary)
    text = stream.decompress(body) + stream.flush()
    if not stream.eof:
        raise zlib.error("the body is cut short")
    return text


class RowWriter:
    """Writer of rows, with one encoder per challenge and probe set.

    Args:
        connection: connection in a write transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._encoders: dict[str, tuple[int, Any]] = {}

    def row(self, record: Record, reusable: bool) -> tuple[Any, ...]:
        """Return a record as a row of `COLUMNS`."""
        text = encode_record(record)
        name = f"{record.challenge} {record.probe_set or ''}"
        found = self._encoders.get(name) or self._load_encoder(name)
        if found is None:
            # the first of its kind becomes the dictionary, and is itself compressed without one
            self._connection.execute("INSERT INTO dictionaries (name, text) VALUES (?, ?)", (name, text[-WINDOW:]))
            number, body = None, zlib.compress(text, LEVEL)
        else:
            self._encoders[name] = found
            number, encoder = found[0], found[1].copy()
            body = encoder.compress(text) + encoder.flush()
        return (
            record.key,
            reusable,
            record.model,
            record.challenge,
            record.attempt or 0,
            record.made.timestamp(),
            record.status.value,
            not record.partial,
            record.overall.score,
            record.overall.coverage,
            number,
            body,
        )

    def _load_encoder(self, name: str) -> tuple[int, Any] | None:
        query = "SELECT number, text FROM dictionaries WHERE name = ?"
        row = self._connection.execute(query, (name,)).fetchone()
        return (row[0], zlib.compressobj(LEVEL, zdict=row[1])) if row else None


def encode_record(record: Record) -> bytes:
    """Return the JSON of a record without default fields of its evidence; `Record.from_json` reads it.

    Other defaults, such as limits, are written, as they may differ in a later harness.
    """
    # a loss is parsed by its kind, whose default must not be left out
    brief = not any(map(attrgetter("loss"), record.evidence))
    head = _get_writer().dump_json(record, exclude={"evidence"})
    evidence = _get_writer().dump_json(record, include={"evidence"}, exclude_defaults=brief)
    return b"%b,%b" % (head[:-1], evidence[1:])


@cache
def _get_writer() -> TypeAdapter[Record]:
    # the model's own serializer writes text, which would need encoding
    return TypeAdapter(Record)


def _summarize(record: Mapping[str, Any]) -> tuple[float, str, bool, float | None, float]:
    whole = record.get("profile", "full") == GradeProfile.FULL and not record.get("only") and not record.get("cut_off")
    overall = record["overall"]
    made = datetime.fromisoformat(record["made"]).timestamp()
    return made, record["status"], whole, overall["score"], overall["coverage"]
