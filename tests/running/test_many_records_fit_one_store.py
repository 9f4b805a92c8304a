"""A store of many records stays small, says what it holds without reading it, and takes up earlier schemas."""

import contextlib
import json
import sqlite3
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.model import GradeProfile, LossByDistance, Outcome, Record, Status
from harness.store.record_store import Store
from harness.workspace import Workspace

CHECKOUT = Path(__file__).parents[2]
SCHEMA_3 = """
CREATE TABLE records (key TEXT NOT NULL, reusable INTEGER NOT NULL, model TEXT NOT NULL, challenge TEXT NOT NULL,
    attempt INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (key, reusable));
CREATE INDEX records_by_name ON records (model, challenge, attempt);
PRAGMA user_version = 3
"""


@pytest.fixture(scope="module")
def published() -> list[Record]:
    """The records of this repository."""
    return Workspace(CHECKOUT).records()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "challenges").mkdir()
    return Store(Workspace(tmp_path))


def test_every_record_comes_back_as_it_was_whichever_way_it_was_added(store: Store, published: list[Record]) -> None:
    """The first of a challenge is its dictionary; the others, and those of a later process, are compressed with it."""
    assert store.add_many(published[::2]) == len(published[::2])
    for record in published[1::2]:
        store.add(record)
    assert [store.find(r.key) for r in published if r.ranked] == [r for r in published if r.ranked]
    assert sorted(store.records(), key=lambda r: r.name) == sorted(published, key=lambda r: r.name)


def test_fields_that_hold_nothing_are_left_out_and_come_back(store: Store, published: list[Record]) -> None:
    """A loss is read by its kind, and the limits of a grade are kept as they were, whatever a later default is."""
    one = next(r for r in published if any(e.outcome is Outcome.FAILED for e in r.evidence))
    loss = LossByDistance(found=((1, 0.25), (256, 1.0)))
    evidence = tuple(e.model_copy(update={"loss": loss}) if e.faulty else e for e in one.evidence)
    lossy = one.model_copy(update={"key": "lossy", "evidence": evidence})
    store.add_many([one, lossy])
    assert [store.find(one.key), store.find("lossy")] == [one, lossy]
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        body = connection.execute("SELECT body FROM records WHERE dictionary IS NULL").fetchone()[0]
    written = json.loads(zlib.decompress(body))
    assert written["limits"] == one.limits.model_dump(mode="json")
    assert all(None not in item.values() and "" not in item.values() for item in written["evidence"])


def bodies(store: Store) -> list[tuple[int | None, int]]:
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        return connection.execute("SELECT dictionary, length(body) FROM records ORDER BY rowid").fetchall()


def test_a_second_attempt_takes_a_fraction_of_the_first(store: Store, published: list[Record]) -> None:
    """They differ in figures and seeds; a fraction of 1/4 leaves room for figures, which do not compress."""
    store.add_many(published[0].model_copy(update={"key": str(number), "seed": number}) for number in range(3))
    (none, first), *others = bodies(store)
    assert none is None
    assert all(dictionary and size < first / 4 for dictionary, size in others)


def test_records_of_another_probe_set_have_a_dictionary_of_their_own(store: Store, published: list[Record]) -> None:
    kinds = [published[0].model_copy(update={"key": key, "probe_set": key[0]}) for key in ("a1", "b1", "a2", "b2")]
    store.add_many(kinds)
    assert [dictionary for dictionary, _ in bodies(store)] == [None, None, 1, 2]
    assert [store.find(r.key) for r in kinds] == kinds


def test_a_summary_counts_what_there_is_and_takes_means_of_whole_grades(store: Store, published: list[Record]) -> None:
    one = next(r for r in published if r.status is Status.GRADED)
    partial = one.model_copy(update={"key": "p", "profile": GradeProfile.REWARD})
    judged = {"key": "j", "status": Status.JUDGE_ERROR, "error": "broke"}
    store.add_many([one, partial])
    store.add(one.model_copy(update=judged | {"overall": one.overall.model_copy(update={"score": None})}))
    (found,) = store.summary()
    assert (found.model, found.challenge) == (one.model, one.challenge)
    assert (found.records, found.graded, found.unbuilt, found.judge_errors) == (3, 2, 0, 1)
    assert (found.mean, found.worst, found.best) == (one.overall.score,) * 3


def test_a_file_of_the_schema_before_is_taken_up_with_all_it_holds(store: Store, published: list[Record]) -> None:
    store.path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.executescript(SCHEMA_3)
        rows = [
            (r.key, 1, r.model, r.challenge, r.attempt or 0, zlib.compress(r.to_json().encode())) for r in published
        ]
        connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO records VALUES ('damaged', 1, 'm', 'c', 0, x'00')")
        connection.commit()
    assert [store.find(r.key) for r in published] == published
    assert store.find("damaged") is None
    assert sum(one.records for one in store.summary()) == len(published)
    added = published[0].model_copy(update={"key": "added", "made": datetime.now(UTC) + timedelta(days=1)})
    store.add(added)
    assert store.find("added") == added
    assert store.list_older(datetime.now(UTC)) == [(published[0].key, 1)]


def test_discarding_records_takes_dictionaries_that_nothing_needs(store: Store, published: list[Record]) -> None:
    store.add_many(published[0].model_copy(update={"key": key}) for key in "abc")
    store.discard([("b", 1)])
    assert store.find("c") is not None
    store.discard([("c", 1)])
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM dictionaries").fetchone() == (0,)
    store.add_many(published[0].model_copy(update={"key": key}) for key in "de")
    assert [store.find(key) is not None for key in "abcde"] == [True, False, False, True, True]


def test_a_stream_shows_the_store_as_it_was_when_it_began(store: Store, published: list[Record]) -> None:
    """A grade that ends while records are exported neither waits nor doubles a row."""
    store.add_many(published[:3])
    records = store.records()
    first = next(records)
    store.add(published[0].model_copy(update={"remarks": ("replaced",)}))
    store.add(published[4])
    assert [first, *records] == published[:3]
