"""A removed submission leaves the board with all that belongs to it, and nothing else is touched."""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from harness.errors import NotFoundError, SpecError
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Record
from harness.model.submissions.name import SubmissionName
from harness.report.views.board.scoreboard import measured_scoreboard, scoreboard
from harness.report.views.inputs import gather
from harness.sandbox import hash_folder
from harness.store import file_states
from harness.store.record_store import Store
from harness.store.removal import describe_removal, removals, remove
from harness.workspace import Workspace
from tests.attempts import grade_attempts
from tests.toy import CHALLENGE_ID
from tests.written import as_markdown

NAME = f"wrong/{CHALLENGE_ID}"


@pytest.fixture(autouse=True)
def _files_are_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_states, "SETTLED_SECONDS", -1.0)


@pytest.fixture
def workspace(graded_toy) -> Workspace:
    """With a right and a wrong answer, both graded."""
    return graded_toy.workspace


def published(workspace: Workspace) -> Path:
    return workspace.record_path("wrong", CHALLENGE_ID)


def change(path: Path, **fields: object) -> None:
    path.write_text(Record.from_json(path.read_bytes()).model_copy(update=fields).to_json())


def collected(workspace: Workspace) -> Path:
    """Make the wrong answer one of a collection, in its record and on disk; its fetched folder."""
    fetched = workspace.fetched_folder("some") / "wrong" / CHALLENGE_ID
    shutil.move(workspace.submissions_folder / "wrong", fetched.parent)
    manifest = workspace.submissions_folder / "collections" / "some" / "collection.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("")
    origin = json.loads((Path(__file__).parents[2] / "reports/records/kv_cache/glm-5.json").read_text())["origin"]
    document = json.loads(published(workspace).read_text())
    published(workspace).write_text(json.dumps(document | {"origin": origin | {"collection": "some"}}))
    return fetched


def test_a_record_whose_folder_is_gone_is_not_ranked_and_told_with_the_command(workspace: Workspace) -> None:
    index = Store(workspace).published
    assert len(index.read_marks().summaries) == 2
    shutil.rmtree(workspace.submissions_folder / "wrong")
    for board in (scoreboard(gather(workspace)), *(measured_scoreboard(index.read_marks()) for _ in range(2))):
        assert [row.standing.model for row in board.rows] == ["right"]
        text = as_markdown(board).replace("\\", "")
        assert f"Left out, as their submissions are no longer here: {NAME}." in text
        assert f"harness rm {NAME}" in text
    assert [r.model for r in index.records()] == ["right"]
    assert index.read().removed == (NAME,)


def test_a_view_is_made_again_when_a_submission_goes_or_comes_back(workspace: Workspace) -> None:
    index, folder = Store(workspace).published, workspace.submissions_folder / "wrong"

    def models() -> list[str]:
        return list(index.view("models", lambda marks: [s.model for s in marks().summaries]))

    assert models() == ["right", "wrong"]
    folder.rename(workspace.root / "aside")
    assert models() == ["right"]
    (workspace.root / "aside").rename(folder)
    assert models() == ["right", "wrong"]


@pytest.mark.parametrize("kind", ["collection", "outside"])
def test_what_never_had_a_folder_here_stays_on_the_board(workspace: Workspace, kind: str) -> None:
    if kind == "collection":
        shutil.rmtree(collected(workspace))
    else:
        change(published(workspace), outside=True)
        shutil.rmtree(workspace.submissions_folder / "wrong")
    index = Store(workspace).published
    assert [s.model for s in index.read_marks().summaries] == [r.model for r in index.records()] == ["right", "wrong"]
    assert index.read().removed == ()


def test_all_that_belongs_to_a_submission_goes_and_nothing_else(workspace: Workspace) -> None:
    seeds = "SELECT COUNT(*) FROM failing_seeds"
    answer = workspace.submissions_folder / "wrong" / CHALLENGE_ID
    Store(workspace).failing_seeds(CHALLENGE_ID, hash_folder(answer)).keep("values", 7)
    with sqlite3.connect(Store(workspace).path) as connection:
        assert connection.execute(seeds).fetchone()[0] == 1
    files = (p for p in workspace.root.rglob("*") if p.is_file())
    others = {p for p in files if "wrong" not in str(p) and ".harness" not in str(p)}
    (found,) = removals(workspace, [NAME])
    assert [line.partition(": ")[2] for line in describe_removal(found)] == ["2 files", "its published record", ""]
    assert list(describe_removal(found))[2] == "1 record made on this machine"
    remove(workspace, found)
    assert not (workspace.submissions_folder / "wrong").exists()
    assert not published(workspace).exists()
    kept = [Store(workspace).count(SubmissionName(model, CHALLENGE_ID)) for model in ("wrong", "right")]
    assert kept == [0, 1]
    with sqlite3.connect(Store(workspace).path) as connection:
        assert connection.execute(seeds).fetchone()[0] == 0
    assert {p for p in others if p.exists()} == others
    with pytest.raises(NotFoundError, match=f"no submission or record '{NAME}'"):
        removals(workspace, [NAME])


def test_one_attempt_goes_and_the_others_stay(graded_toy) -> None:
    workspace = graded_toy.workspace
    grade_attempts(graded_toy, "twice", right=1, wrong=1)
    (first,) = removals(workspace, [f"twice/{CHALLENGE_ID}/attempt-1"])
    remove(workspace, first)
    (second,) = removals(workspace, [f"twice/{CHALLENGE_ID}"])
    assert (str(second.name), second.kept) == (f"twice/{CHALLENGE_ID}/attempt-2", 1)
    assert second.record is not None and second.record.is_file()
    remove(workspace, second)
    assert not (workspace.submissions_folder / "twice").exists()
    assert not second.record.parent.exists()
    assert workspace.submissions_folder.is_dir()


def test_what_is_left_of_a_removed_folder_goes_by_its_name(workspace: Workspace) -> None:
    shutil.rmtree(workspace.submissions_folder / "wrong")
    (found,) = removals(workspace, ["wrong"])
    assert found.folder is None
    remove(workspace, found)
    assert Store(workspace).published.read().removed == ()


def test_of_a_collection_only_fetched_files_and_record_go(workspace: Workspace) -> None:
    fetched = collected(workspace)
    manifest = workspace.submissions_folder / "collections" / "some" / "collection.toml"
    (found,) = removals(workspace, [NAME])
    assert (found.collection, found.folder) == ("some", fetched)
    remove(workspace, found)
    assert (fetched.exists(), published(workspace).exists(), manifest.exists()) == (False, False, True)


def test_a_record_of_a_collection_outlives_a_submission_of_its_name(workspace: Workspace) -> None:
    fetched = collected(workspace)
    shutil.copytree(fetched, workspace.submissions_folder / "wrong" / CHALLENGE_ID)
    (found,) = removals(workspace, [NAME])
    remove(workspace, found)
    assert (found.record, fetched.exists(), published(workspace).exists()) == (None, True, True)


def test_nothing_outside_the_workspace_is_touched(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    shutil.copytree(workspace.submissions_folder / "wrong", outside / "linked")
    with pytest.raises(SpecError, match="is no submission of this workspace"):
        removals(workspace, [str(outside / "linked" / CHALLENGE_ID)])
    with pytest.raises(SpecError, match="is no submission of this workspace"):
        removals(workspace, [str(workspace.root / "challenges" / CHALLENGE_ID)])
    os.symlink(outside / "linked", workspace.submissions_folder / "linked")
    with pytest.raises(SpecError, match="outside the workspace; nothing was removed"):
        removals(workspace, ["linked"])
    shutil.rmtree(workspace.submissions_folder / "wrong" / CHALLENGE_ID)
    os.symlink(outside / "linked" / CHALLENGE_ID, workspace.submissions_folder / "wrong" / CHALLENGE_ID)
    (found,) = removals(workspace, [NAME])
    assert next(describe_removal(found)).endswith("not what it leads to")
    remove(workspace, found)
    assert (outside / "linked" / CHALLENGE_ID / "answer.py").exists()
    assert not os.path.lexists(workspace.submissions_folder / "wrong" / CHALLENGE_ID)


def test_a_grade_replaces_no_record_of_another_folder_unless_asked(workspace: Workspace) -> None:
    fetched = collected(workspace)
    own = workspace.submissions_folder / "wrong" / CHALLENGE_ID
    shutil.copytree(fetched, own)
    before = published(workspace).read_bytes()
    assert grade_one(workspace, own, Options(elsewhere=False)).record.origin is None
    assert published(workspace).read_bytes() == before
    grade_one(workspace, own, Options(elsewhere=True))
    assert Record.from_json(published(workspace).read_bytes()).origin is None


def test_a_folder_elsewhere_is_published_as_such_only_when_asked(workspace: Workspace, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(workspace.submissions_folder / "wrong" / CHALLENGE_ID, elsewhere)
    before = published(workspace).read_bytes()
    assert grade_one(workspace, elsewhere, Options(elsewhere=False)).record.outside
    assert published(workspace).read_bytes() == before
    shutil.rmtree(workspace.submissions_folder / "wrong")
    grade_one(workspace, elsewhere, Options(elsewhere=True))
    assert Store(workspace).published.read().removed == ()
    # the folder of that name is another one than the one published
    shutil.copytree(elsewhere, workspace.submissions_folder / "wrong" / CHALLENGE_ID)
    published_now = published(workspace).read_bytes()
    own = workspace.submissions_folder / "wrong" / CHALLENGE_ID
    assert not grade_one(workspace, own, Options(elsewhere=False)).record.outside
    assert published(workspace).read_bytes() == published_now
