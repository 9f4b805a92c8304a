"""Published records are checked once for each change of a file; a view is made again exactly when it could differ."""

import json
import os
import re
from pathlib import Path

import pytest

from harness.errors import StoreError
from harness.running import published_records
from harness.running.store import Store
from harness.running.submission_grade import grade_one


@pytest.fixture(autouse=True)
def _files_are_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_records, "SETTLED_SECONDS", -1.0)


@pytest.fixture
def index(toy, submit) -> published_records.PublishedRecords:
    """Of a workspace with one wrong and one right answer."""
    grade_one(toy.workspace, submit("right", toy.source()))
    grade_one(toy.workspace, submit("wrong", toy.source(toy.mutants[0])))
    return Store(toy.workspace).published


def edit(path: Path, change) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


RAISED = {
    "an overall": lambda d: d["overall"].update(score=94.0, high=94.0),
    "a dimension": lambda d: d["dimensions"]["correctness"].update(score=94.0),
    "a gate": lambda d: d.update(gates=[]),
    "an interval": lambda d: d["overall"].update(high=d["overall"]["high"] + 1),
    "a coverage": lambda d: d["overall"].update(coverage=0.5),
}


@pytest.mark.parametrize("change", RAISED)
@pytest.mark.parametrize("read_before", [True, False])
def test_a_record_whose_marks_were_edited_is_refused(toy, index, change, read_before):
    """It says 94 although a critical criterion failed: no board may rank it."""
    path = toy.workspace.record_path("wrong", "scaled_sum")
    if read_before:
        index.records()
    edit(path, RAISED[change])
    with pytest.raises(StoreError, match=re.escape(f"{path}: ")) as raised:
        index.records()
    assert "does not follow from the evidence" in str(raised.value)
    assert "harness grade wrong/scaled_sum --force" in str(raised.value)


def test_a_record_of_another_version_of_the_rubric_is_no_forgery(toy, index):
    rubric = toy.workspace.challenge_folder("scaled_sum") / "challenge.toml"
    rubric.write_text(rubric.read_text().replace('severity = "major"', 'severity = "minor"'))
    assert len(index.records()) == 2


def test_an_edited_mark_is_refused_whatever_rubric_it_was_given_by(toy, index):
    """Evidence of another rubric has other weights, and a failed critical criterion caps the overall all the same."""

    def raised(document):
        document["overall"].update(score=94.0, high=94.0)
        document["evidence"][-1]["criterion"] = "of_another_rubric"

    edit(toy.workspace.record_path("wrong", "scaled_sum"), raised)
    with pytest.raises(StoreError, match=r"can be [45]9 at most"):
        index.records()


def test_one_record_is_checked_as_all_are(toy, index):
    """show, compare and replay read single records."""
    assert index.record("wrong/scaled_sum").model == "wrong"
    edit(toy.workspace.record_path("wrong", "scaled_sum"), RAISED["an overall"])
    with pytest.raises(StoreError, match="does not follow from the evidence"):
        index.record("wrong/scaled_sum")


def test_a_record_is_checked_again_only_when_its_file_changes(toy, index, monkeypatch):
    checked: list[str] = []
    whole = published_records._contradiction
    monkeypatch.setattr(
        published_records, "_contradiction", lambda r, record: checked.append(record.model) or whole(r, record)
    )
    for expected in (["right", "wrong"], []):
        checked.clear()
        assert [r.model for r in index.records()] == ["right", "wrong"]
        assert checked == expected
    os.utime(toy.workspace.record_path("wrong", "scaled_sum"))
    index.records()
    assert checked == ["wrong"]


def views(index: published_records.PublishedRecords) -> int:
    """How often a view was made when asked for twice."""
    made: list[int] = []
    for _ in range(2):
        assert index.view("board", lambda: made.append(1) or ["text \udcff", "note"]) == ["text \udcff", "note"]
    return len(made)


CHANGES = {
    "nothing": (lambda w: None, 0),
    "a record": (lambda w: os.utime(w.record_path("right", "scaled_sum")), 1),
    "a record goes": (lambda w: w.record_path("right", "scaled_sum").unlink(), 1),
    "a record moves": (lambda w: w.record_path("right", "scaled_sum").rename(w.record_path("left", "scaled_sum")), 1),
    "a rubric": (lambda w: os.utime(w.challenge_folder("scaled_sum") / "challenge.toml"), 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_view_is_made_again_when_something_it_shows_changed(toy, index, change):
    act, times = CHANGES[change]
    assert views(index) == 1
    act(toy.workspace)
    assert views(index) == times


def test_an_edit_that_keeps_size_and_time_is_seen(toy, index):
    path = toy.workspace.record_path("right", "scaled_sum")
    assert views(index) == 1
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"right", b"wrong"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert views(index) == 1


def test_a_file_changed_just_now_is_not_relied_on(toy, index, monkeypatch):
    """Two changes within one tick of the clock leave the same times."""
    monkeypatch.setattr(published_records, "SETTLED_SECONDS", 60.0)
    assert views(index) == 2


def test_without_a_usable_store_reports_are_slower_and_the_same(toy, index):
    expected = index.records()
    store = Store(toy.workspace)
    store.path.write_bytes(b"damaged " * 1000)
    assert index.records() == expected and views(index) == 2
