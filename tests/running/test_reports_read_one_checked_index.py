"""Published records are read and checked once for each change of a file; the index never changes what a report says."""

import dataclasses
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import StoreError
from harness.model import Provenance, Record
from harness.report.views.board.scoreboard import measured_scoreboard
from harness.report.views.inputs import gather
from harness.scoring import doubts
from harness.scoring.duels import round_robin
from harness.scoring.record_summary import RecordSummary
from harness.store import file_states, published_records
from harness.store.record_store import Store
from harness.workspace import Workspace
from tests.written import as_csv, as_json, as_markdown


@pytest.fixture(autouse=True)
def _files_are_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_states, "SETTLED_SECONDS", -1.0)


@pytest.fixture
def index(graded_toy) -> published_records.PublishedRecords:
    """Of a workspace with one wrong and one right answer."""
    return Store(graded_toy.workspace).published


def edit(path: Path, change) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def raised(document) -> None:
    document["overall"].update(score=94.0, high=94.0)


@pytest.mark.parametrize("read_before", [True, False])
def test_a_record_whose_marks_were_edited_is_left_out(toy, index, caplog, read_before):
    """It says 94 although a critical criterion failed: no board may rank it."""
    path = toy.workspace.record_path("wrong", "scaled_sum")
    reads = (index.read, index.read_marks)
    if read_before:
        [read() for read in reads]
    edit(path, raised)
    for read in reads:
        caplog.clear()
        assert read().left_out == ("wrong/scaled_sum",)
        assert f"left out: {path}: " in caplog.text and "does not follow from the evidence" in caplog.text
        assert "harness grade wrong/scaled_sum --force" in caplog.text
    assert [record.model for record in index.records()] == ["right"]


def test_an_edited_mark_is_refused_whatever_rubric_it_was_given_by(toy, index, caplog):
    """Evidence of another rubric has other weights, and a failed critical criterion caps the overall all the same."""

    def of_another_rubric(document):
        raised(document)
        document["evidence"][-1]["criterion"] = "of_another_rubric"
        document["probe_set"] = None

    edit(toy.workspace.record_path("wrong", "scaled_sum"), of_another_rubric)
    assert [record.model for record in index.records()] == ["right"]
    assert re.search(r"can be [45]9 at most", caplog.text)


def test_one_record_is_checked_as_all_are(toy, index):
    """show, compare and replay read single records."""
    assert index.record("wrong/scaled_sum").model == "wrong"
    edit(toy.workspace.record_path("wrong", "scaled_sum"), raised)
    with pytest.raises(StoreError, match="does not follow from the evidence"):
        index.record("wrong/scaled_sum")


def test_a_record_is_checked_again_only_when_its_file_changes(toy, index, monkeypatch):
    checked: list[str] = []
    whole = doubts.find_doubts
    monkeypatch.setattr(
        doubts, "find_doubts", lambda record, *given: checked.append(record.model) or whole(record, *given)
    )
    for expected in (["right", "wrong"], []):
        checked.clear()
        assert [r.model for r in index.records()] == ["right", "wrong"]
        assert checked == expected
    os.utime(toy.workspace.record_path("wrong", "scaled_sum"))
    index.records()
    assert checked == ["wrong"]


@pytest.fixture
def read(monkeypatch) -> list[str]:
    """The models whose records are parsed."""
    parsed: list[str] = []
    whole = Record.from_json.__func__

    def from_json(cls, text):
        record = whole(cls, text)
        parsed.append(record.model)
        return record

    monkeypatch.setattr(Record, "from_json", classmethod(from_json))
    return parsed


def test_only_records_that_changed_are_read_again(toy, index, read):
    """A changed rubric changes what all its records are checked against."""
    for act, expected in (
        (lambda: None, ["right", "wrong"]),
        (lambda: None, []),
        (lambda: os.utime(toy.workspace.record_path("wrong", "scaled_sum")), ["wrong"]),
        (lambda: os.utime(toy.workspace.challenge_folder("scaled_sum") / "challenge.toml"), ["right", "wrong"]),
        (lambda: None, []),
    ):
        act()
        read.clear()
        assert [s.model for s in index.read_marks().summaries] == ["right", "wrong"]
        assert read == expected


def test_a_record_is_not_read_again_after_it_was_published(toy, index, read, monkeypatch):
    """A board of many records is shown at once after the last of them; a file edited at once is read all the same."""
    for model in ("right", "wrong"):
        path = toy.workspace.record_path(model, "scaled_sum")
        record = Record.from_json(path.read_text())
        path.unlink()
        Store(toy.workspace).publish(record)
    monkeypatch.setattr(file_states, "SETTLED_SECONDS", 60.0)
    read.clear()
    assert [s.model for s in index.read_marks().summaries] == ["right", "wrong"]
    assert read == []
    path.write_bytes(path.read_bytes())
    assert [s.model for s in index.read_marks().summaries] == ["right", "wrong"]
    assert read == ["wrong"]


def test_marks_that_the_index_knows_are_those_found_anew(board: Workspace) -> None:
    """Duels of records that were read before equal those of the records themselves."""
    index = Store(board).published
    index.read_marks()
    known = index.read_marks().summaries
    anew = [RecordSummary.of(record) for record in index.records()]
    for rubric in (board.challenge(id) for id in sorted({summary.challenge for summary in known})):
        kept, found = (
            round_robin(rubric, [one for one in every if one.challenge == rubric.id]) for every in (known, anew)
        )
        assert kept.to_bytes() == found.to_bytes()


def test_duels_are_fought_again_only_where_a_record_changed(toy, index, monkeypatch):
    fought: list[str] = []
    monkeypatch.setattr("harness.scoring.duels.round_robin", lambda c, *a: fought.append(c.id) or round_robin(c, *a))
    for expected in (["scaled_sum"], []):
        fought.clear()
        found = list(index.read_marks().duels)
        assert [(d.left, d.right, d.winner) for d in found] == [("right", "wrong", "right")]
        assert fought == expected
    os.utime(toy.workspace.record_path("right", "scaled_sum"))
    assert list(index.read_marks().duels) == found and fought == ["scaled_sum"]


def test_what_another_version_kept_of_duels_is_not_read(toy, index):
    expected = list(index.read_marks().duels)
    with sqlite3.connect(Store(toy.workspace).path) as connection:
        connection.execute("UPDATE views SET state = 'other', body = x'00' WHERE name = 'duels scaled_sum'")
    assert list(index.read_marks().duels) == expected != []


def test_a_changed_record_is_seen_at_once(toy, index):
    assert [s.ranked for s in index.read_marks().summaries] == [True, True]
    edit(toy.workspace.record_path("wrong", "scaled_sum"), lambda d: d.update(ranked=False))
    assert [s.ranked for s in index.read_marks().summaries] == [True, False]
    assert [s.ranked for s in index.read_marks().summaries] == [True, False]


def test_a_deleted_record_leaves(toy, index):
    index.read_marks()
    toy.workspace.record_path("right", "scaled_sum").unlink()
    left = index.read_marks()
    assert [s.model for s in left.summaries] == ["wrong"] and not left.duels
    with sqlite3.connect(Store(toy.workspace).path) as connection:
        assert connection.execute("SELECT path FROM summaries").fetchall() == [("scaled_sum/wrong.json",)]


BUNDLED = Path(__file__).resolve().parents[2]


def test_the_index_changes_no_byte_of_a_scoreboard(tmp_path):
    """Made of records, of an empty index and of a full one, in every format; so are the duels."""
    for folder in ("challenges", "reports/records", "submissions/baseline"):
        shutil.copytree(BUNDLED / folder, tmp_path / folder)
    workspace = Workspace(tmp_path)
    inputs = gather(workspace)
    records = dataclasses.replace(inputs, records=tuple(workspace.records()))
    shutil.rmtree(workspace.cache_folder)
    boards = [
        measured_scoreboard(m) for m in (records.measured, *(Store(workspace).published.read_marks() for _ in range(2)))
    ]
    for write in (as_json, as_csv, as_markdown):
        assert len({write(board) for board in boards}) == 1


ANSWERS = [(model, number) for model in ("a", "b", "c", "d") for number in (1, 2, 3)]


def publish(workspace: Workspace, record: Record, model: str, attempt: int) -> Path:
    path = workspace.record_path(model, record.challenge, attempt)
    path.parent.mkdir(parents=True, exist_ok=True)
    other = {"model": model, "attempt": attempt, "origin": None, "outside": True, "provenance": Provenance.MODEL_OUTPUT}
    path.write_text(record.model_copy(update=other).to_json())
    return path


@pytest.fixture
def board(tmp_path: Path) -> Workspace:
    """Four models with three attempts at each of two challenges, drawn from the records of this repository."""
    shutil.copytree(BUNDLED / "challenges", tmp_path / "challenges")
    for challenge in ("kv_cache", "layernorm_backward"):
        for number, (model, attempt) in enumerate(ANSWERS):
            publish(Workspace(tmp_path), bundled(challenge)[(number * number) % 5], model, attempt)
    return Workspace(tmp_path)


def bundled(challenge: str) -> list[Record]:
    return [record for record in Workspace(BUNDLED).records() if record.challenge == challenge]


def pages(workspace: Workspace) -> list[str]:
    """The scoreboard in every format, of what was kept and what changed."""

    def write(marks) -> list[str]:
        board = measured_scoreboard(marks())
        return [as_json(board), as_csv(board), as_markdown(board)]

    return list(Store(workspace).published.view("pages", write))


CHANGED = {
    "one attempt is another answer": lambda w: publish(w, bundled("kv_cache")[0], "b", 2),
    "one attempt does not build": lambda w: publish(w, bundled("layernorm_backward")[3], "a", 1),
    "one attempt more": lambda w: publish(w, bundled("kv_cache")[1], "c", 4),
    "one attempt less": lambda w: w.record_path("c", "kv_cache", 3).unlink(),
    "a model comes": lambda w: publish(w, bundled("kv_cache")[2], "e", 1),
    "a model goes": lambda w: [w.record_path("d", "kv_cache", n).unlink() for n in (1, 2, 3)],
    "touched": lambda w: os.utime(w.record_path("a", "kv_cache", 1)),
}


def test_a_board_after_a_change_is_the_board_made_anew(board: Workspace) -> None:
    """Whatever was kept of earlier boards: duels, means and draws of answers that did not change."""
    pages(board)
    for change, act in CHANGED.items():
        act(board)
        quick = pages(board)
        kept = board.cache_folder.rename(board.root / "kept")
        assert quick == pages(board), change
        shutil.rmtree(board.cache_folder)
        kept.rename(board.cache_folder)


def test_two_processes_may_make_the_index_at_once(toy, index):
    """Each prints what one alone prints."""
    command = [sys.executable, "-m", "harness", "scoreboard", "--format", "json"]
    environment = {**os.environ, "HARNESS_WORKSPACE": str(toy.workspace.root)}
    shutil.rmtree(toy.workspace.cache_folder)
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert {"right", "wrong"} == {row["model"] for row in json.loads(printed[0])["rows"]}
    assert printed[0].strip() == printed[1].strip() == as_json(measured_scoreboard(index.read_marks())).strip()


def views(index: published_records.PublishedRecords) -> int:
    """How often a view was made when asked for twice."""
    made: list[int] = []
    for _ in range(2):
        assert index.view("board", lambda marks: made.append(1) or ["text \udcff", "note"]) == ["text \udcff", "note"]
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
    monkeypatch.setattr(file_states, "SETTLED_SECONDS", 60.0)
    assert views(index) == 2


def test_without_a_usable_store_reports_are_slower_and_the_same(toy, index):
    expected = index.records()
    store = Store(toy.workspace)
    store.path.write_bytes(b"damaged " * 1000)
    assert index.records() == expected and views(index) == 2
    assert [s.model for s in index.read_marks().summaries] == ["right", "wrong"]
