"""`harness attempt` gives a single answer a number: all its files move, its record goes, and others can join it."""

import errno
import os
from pathlib import Path

import pytest

from harness.errors import NotFoundError, StoreError
from harness.grading.submission_grade import grade_one
from harness.store.record_store import Store
from harness.store.renumbering import make_attempt
from harness.workspace import Workspace
from tests.toy import CHALLENGE_ID, REFERENCE, SUBMISSION, add_submission, make_workspace

NAME = f"m/{CHALLENGE_ID}"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_its_files_move_and_its_record_goes(workspace: Workspace) -> None:
    folder = add_submission(workspace, "m", REFERENCE)
    (folder / "reviews").mkdir()
    (folder / "reviews" / "me.toml").write_text("")
    other = add_submission(workspace, "n", REFERENCE)
    for each in (folder, other):
        grade_one(workspace, each)
    before = contents(folder)
    assert make_attempt(workspace, NAME).attempt == 1
    assert {path.name for path in folder.iterdir()} == {"attempt-1"} and contents(folder / "attempt-1") == before
    assert workspace.submission(folder / "attempt-1").about.attempt == 1
    assert [record.name for record in Store(workspace).published.records()] == [f"n/{CHALLENGE_ID}"]
    assert not workspace.record_path("m", CHALLENGE_ID).exists()
    assert grade_one(workspace, folder / "attempt-1").record.attempt == 1
    with pytest.raises(NotFoundError, match="no single answer"):
        make_attempt(workspace, NAME)


def test_beside_attempts_it_takes_the_first_free_number(workspace: Workspace) -> None:
    folder = add_submission(workspace, "m", REFERENCE)
    for number in (1, 3):
        attempt = folder / f"attempt-{number}"
        attempt.mkdir()
        (attempt / "answer.py").write_text(REFERENCE)
        (attempt / "submission.toml").write_text(SUBMISSION.format(model="m"))
    assert make_attempt(workspace, NAME).attempt == 2
    assert [each.name for each in workspace.submissions()] == ["attempt-1", "attempt-2", "attempt-3"]
    assert workspace.submission(folder / "attempt-2").about.attempt == 2


def test_what_cannot_be_moved_stays_where_it_is(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = add_submission(workspace, "m", REFERENCE)
    before, rename = contents(folder), Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "submission.toml" and ".attempt-1.new" in str(target):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(StoreError, match="cannot be moved"):
        make_attempt(workspace, NAME)
    assert contents(folder) == before and {path.name for path in folder.iterdir()} == {"answer.py", "submission.toml"}


@pytest.mark.parametrize("name", ["m", "nobody/scaled_sum", f"{NAME}/attempt-1", "../m/scaled_sum", ""])
def test_what_names_no_single_answer_is_refused(workspace: Workspace, name: str) -> None:
    add_submission(workspace, "m", REFERENCE)
    with pytest.raises(NotFoundError, match="no single answer"):
        make_attempt(workspace, name)
