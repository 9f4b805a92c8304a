"""An unchanged submission is graded once on a machine; any change to what a grade depends on grades it again."""

import contextlib
import shutil
import sqlite3

import pytest

from harness.model import Outcome
from harness.running import content_key
from harness.running.grade import grade_one
from harness.running.options import Options
from harness.running.store import Store


@pytest.fixture
def graded(toy, submit):
    folder = submit("m", toy.source())
    first = grade_one(toy.workspace, folder)
    assert not first.reused
    return folder, first.record


def test_the_second_grade_is_the_first_and_says_why(toy, graded):
    folder, record = graded
    again = grade_one(toy.workspace, folder)
    assert again.reused and again.record == record
    assert record.made in again.reason


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
    assert toy.workspace.record_path("m", "scaled_sum").exists()
    assert not grade_one(toy.workspace, folder).reused


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


def test_each_grade_draws_a_seed_of_its_own(toy, graded):
    folder, first = graded
    again = [grade_one(toy.workspace, folder, Options(force=True)).record for _ in range(2)]
    assert len({record.seed for record in (first, *again)}) == 3
