"""Pruning removes what the current version no longer uses, and nothing that a grade may need."""

import os
import sqlite3
import time
from pathlib import Path

import pytest

from harness.cuda.compilers.host_compiler import HostCompiler
from harness.cuda.emulator import archive
from harness.model import Record
from harness.model.submissions.name import SubmissionName
from harness.mutation.trials.journal import trials_folder, version_of
from harness.store import disk_use
from harness.store.disk_use import disk_uses, list_prunable, prune
from harness.store.record_store import Store
from tests.toy import CHALLENGE_ID

DAY = 86_400.0
COMPILER = HostCompiler("gcc", ("g++",), "12.2.0")


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the runtimes: nobody else's."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(disk_use, "host_compiler", lambda: COMPILER)
    (tmp_path / "cache" / "runtime" / "objects").mkdir(parents=True)
    return tmp_path / "cache" / "runtime"


def made(path: Path, days: float) -> Path:
    """A file, or for a name without a suffix a folder with one, last used so many days ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.suffix:
        path.mkdir()
    (path if path.suffix else path / "core.o").write_bytes(b"x" * 1000)
    os.utime(path, (time.time() - days * DAY,) * 2)
    return path


def test_runtimes_of_other_versions_go_and_those_in_use_stay(graded_toy, cache: Path) -> None:
    current = {made(cache / name if "." not in name else cache / "objects" / name, 90)
               for name in archive.in_use(COMPILER)}  # fmt: skip
    old, left = made(cache / "0123old", 8), made(cache / ".making-killed", 8)
    stale = made(cache / "objects" / "old.o", 8)
    recent = made(cache / "recent", 0.5)
    busy = made(cache / "busy", 0.01)
    found = list_prunable(graded_toy.workspace, 7)
    assert {one.path for one in found} - {left} == {old, stale}
    assert {one.size for one in found} == {1000}
    assert {one.path for one in list_prunable(graded_toy.workspace, 0)} >= {old, stale, recent}
    assert busy not in {one.path for one in list_prunable(graded_toy.workspace, 0)}
    prune(graded_toy.workspace, found)
    assert not old.exists() and not stale.exists()
    assert all(path.exists() for path in (*current, recent, busy))


def test_a_runtime_taken_up_meanwhile_stays(graded_toy, cache: Path) -> None:
    old = made(cache / "0123old", 8)
    found = list_prunable(graded_toy.workspace, 7)
    os.utime(old)
    prune(graded_toy.workspace, found)
    assert old.exists()


def test_trials_of_other_versions_go(graded_toy, cache: Path) -> None:
    folder = trials_folder(graded_toy.workspace)
    kept = made(folder / f"{CHALLENGE_ID}-MutantTrial-7-{version_of(graded_toy)}.jsonl", 30)
    old = made(folder / f"{CHALLENGE_ID}-MutantTrial-7-{'0' * 16}.jsonl", 30)
    prune(graded_toy.workspace, list_prunable(graded_toy.workspace, 7))
    assert (kept.exists(), old.exists()) == (True, False)


def test_of_records_the_latest_of_each_submission_stays_whatever_its_age(graded_toy, cache: Path) -> None:
    store = Store(graded_toy.workspace)
    latest = graded_toy.workspace.record(f"right/{CHALLENGE_ID}")
    document = latest.model_dump() | {"made": "2020-01-01T00:00:00Z", "key": "older"}
    store.add(Record.model_validate(document))
    (found,) = list_prunable(graded_toy.workspace, 7)
    assert found.rows == (("older", 1),)
    prune(graded_toy.workspace, [found])
    assert store.find("older") is None and store.find(latest.key) == latest
    assert store.count(SubmissionName("wrong", CHALLENGE_ID)) == 1
    assert not list_prunable(graded_toy.workspace, 7)


def test_a_store_in_use_is_pruned_beside_its_reader(graded_toy, cache: Path) -> None:
    store = Store(graded_toy.workspace)
    latest = graded_toy.workspace.record(f"right/{CHALLENGE_ID}")
    store.add(latest.model_copy(update={"key": "older", "made": latest.made.replace(year=2020)}))
    reader = sqlite3.connect(store.path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT COUNT(*) FROM records").fetchone()[0] == 3
    store.discard([("older", 1)])
    assert reader.execute("SELECT COUNT(*) FROM records").fetchone()[0] == 3
    reader.close()
    assert store.find("older") is None


def test_every_kind_is_listed_with_its_size(graded_toy, cache: Path) -> None:
    made(cache / "0123old", 8)
    uses = {use.kind: use for use in disk_uses(graded_toy.workspace)}
    runtimes, records = uses["compiled runtimes"], uses["records made here"]
    assert (runtimes.count, runtimes.size) == (1, 1000)
    assert runtimes.used is not None and 7 < (time.time() - runtimes.used.timestamp()) / DAY < 9
    assert records.size >= Store(graded_toy.workspace).path.stat().st_size
    assert uses["fetched collections"].used is None
