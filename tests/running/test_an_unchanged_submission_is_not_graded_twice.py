"""An unchanged submission is graded once on a machine; any change to what a grade depends on grades it again."""

import contextlib
import shutil
import sqlite3

import pytest

from harness.executors.base import grade_all
from harness.executors.local import LocalExecutor
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Outcome
from harness.store import content_key
from harness.store.record_store import Store


@pytest.fixture
def graded(graded_toy):
    workspace = graded_toy.workspace
    return workspace.root / "submissions" / "right" / "scaled_sum", workspace.record("right/scaled_sum")


def test_the_second_grade_is_the_first_and_says_why(toy, graded):
    folder, record = graded
    again = grade_one(toy.workspace, folder)
    assert again.reused and again.record == record
    assert f"{record.made:%Y-%m-%d %H:%M:%S} UTC" in again.reason


def test_a_review_does_not_change_what_was_graded(toy, graded):
    folder, _ = graded
    (folder / "reviews").mkdir()
    (folder / "reviews" / "r.toml").write_text("x = 1")
    assert grade_one(toy.workspace, folder).reused


@pytest.mark.parametrize("where", ["submission", "challenge", "reference"])
def test_a_changed_file_is_seen(toy, graded, where):
    folder, record = graded
    root = toy.workspace.root
    changed = {
        "submission": folder / "NOTES.md",
        "challenge": root / "challenges" / "scaled_sum" / "PROMPT.md",
        "reference": root / "references" / "scaled_sum" / "notes.txt",
    }[where]
    changed.write_text("new")
    content_key._hashes.cache_clear()
    again = grade_one(toy.workspace, folder)
    assert not again.reused and again.record.key != record.key


def test_changed_limits_and_force_grade_again(toy, graded):
    folder, _ = graded
    assert not grade_one(toy.workspace, folder, Options(limits={"call_seconds": 9.0})).reused
    assert not grade_one(toy.workspace, folder, Options(force=True)).reused


def test_a_record_that_came_with_a_clone_is_not_believed(toy, graded):
    """Published records are for reading: only what this machine's store holds is reused."""
    folder, _ = graded
    shutil.rmtree(toy.workspace.cache_folder)
    assert toy.workspace.record_path("right", "scaled_sum").exists()
    assert not grade_one(toy.workspace, folder).reused


def test_a_record_that_came_with_a_clone_stays_unless_outcomes_or_files_differ(toy, graded):
    folder, record = graded
    path = toy.workspace.record_path("right", "scaled_sum")
    came = path.read_bytes()
    shutil.rmtree(toy.workspace.cache_folder)
    made = grade_one(toy.workspace, folder)
    assert not made.reused and made.record.seed != record.seed and path.read_bytes() == came
    assert grade_one(toy.workspace, folder).record == made.record and path.read_bytes() == came

    path.write_text(record.model_copy(update={"evidence": record.evidence[1:]}).to_json())
    assert grade_one(toy.workspace, folder).reused and toy.workspace.record_in(path) == made.record
    path.write_bytes(came)
    (folder / "NOTES.md").write_text("new")
    changed = grade_one(toy.workspace, folder).record
    assert toy.workspace.record_in(path) == changed
    forced = grade_one(toy.workspace, folder, Options(force=True)).record
    assert toy.workspace.record_in(path) == forced


def test_a_stored_record_that_cannot_be_read_is_graded_again(toy, graded):
    folder, _ = graded
    with contextlib.closing(sqlite3.connect(Store(toy.workspace).path)) as connection, connection:
        connection.execute("UPDATE records SET body = substr(body, 1, 100)")
    assert not grade_one(toy.workspace, folder).reused
    assert grade_one(toy.workspace, folder).reused


def test_a_chosen_seed_is_unranked_and_never_stands_for_a_drawn_one(toy, submit):
    folder = submit("m", toy.source(toy.mutants[0]))
    first = grade_one(toy.workspace, folder, Options(seed=5)).record
    second = grade_one(toy.workspace, folder, Options(seed=5)).record
    assert not first.ranked and first.evidence == second.evidence
    assert first.evidence[0].outcome is Outcome.FAILED
    drawn = grade_one(toy.workspace, folder)
    assert not drawn.reused and drawn.record.ranked and drawn.record.seed != 5


def test_two_grades_draw_different_seeds(toy, submit):
    """An answer that has met one grade's inputs has not met the next one's."""
    folder = submit("m", toy.source())
    records = [grade_one(toy.workspace, folder, Options(force=True)).record for _ in range(3)]
    assert len({r.seed for r in records}) == 3
    assert len({e.seed for r in records for e in r.evidence}) == 3 * len(records[0].evidence)


def test_a_forced_grade_replaces_the_published_record(toy, graded):
    folder, before = graded
    forced = grade_one(toy.workspace, folder, Options(force=True)).record
    published = toy.workspace.record("right/scaled_sum")
    assert published == forced and published.seed != before.seed
    assert grade_one(toy.workspace, folder).record == forced, "and the next run reuses the new one"


def test_what_a_grading_process_says_of_a_grade_arrives_whole(toy, submit, graded):
    """That a record was reused, why, and where it could not be saved: the same from a process as from this one."""
    folder, record = graded
    toy.workspace.record_path("new", "scaled_sum").mkdir()  # no file can take this place
    new = submit("new", toy.source() + "\n# new\n")
    results = {r.folder: r for r in grade_all(LocalExecutor(toy.workspace, Options(), 2), [folder, new])}
    assert results[folder].reused and results[folder].record == record
    assert results[folder].reason.startswith("nothing changed since 2") and not results[folder].save_error
    assert not results[new].reused and results[new].reason.startswith("not graded before")
    assert "new.json: cannot be written: " in results[new].save_error
